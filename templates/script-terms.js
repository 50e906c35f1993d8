/* Terms: what a figure or a column means opens beside it. Without scripts a term leads to the list of definitions, which is folded. */

class Terms {
  constructor() {
    this.card = create('div', 'term', {popover: '', role: 'note', tabindex: '-1'});
    document.body.append(this.card);
    document.addEventListener('click', (event) => this.open(event));
  }

  /* A click that wants another tab or window is the browser's. */
  open(event) {
    const link = event.target.closest('a[href^="#term-"]');
    const term = link && document.getElementById(link.hash.slice(1));
    if (!term || event.ctrlKey || event.metaKey || event.shiftKey || !this.card.showPopover) {
      return;
    }
    event.preventDefault();
    this.card.replaceChildren(create('p', 'label', {}, term.textContent), create('p', '', {}, term.nextElementSibling.textContent));
    this.card.showPopover();
    this.place(link.getBoundingClientRect());
    this.card.focus();
  }

  /* Below the link, or above where there is more room. */
  place(link) {
    const {offsetWidth: width, offsetHeight: height} = this.card;
    const below = link.bottom + 6 + height <= innerHeight || link.top < innerHeight - link.bottom;
    this.card.style.left = between(link.left, 8, innerWidth - width - 8) + 'px';
    this.card.style.top = Math.max(8, below ? link.bottom + 6 : link.top - 6 - height) + 'px';
  }
}

/* What a link of the page leads to may be folded. */
const unfoldTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  const folds = [];
  for (let fold = target && target.closest('details'); fold; fold = fold.parentElement.closest('details')) {
    folds.push(fold);
  }
  if (folds.some((fold) => !fold.open)) {
    folds.forEach((fold) => fold.setAttribute('open', ''));
    target.scrollIntoView();
  }
};
