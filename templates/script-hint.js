const NEAR_ARROW = 4; /* pixels of the picture */

/* What is told at the pointer while it moves over a timeline. */

class Hint {
  constructor(picture) {
    this.picture = picture;
    this.task = NONE;
    this.element = create('div', 'task hint', {'aria-hidden': 'true', hidden: ''});
  }

  hide() {
    this.task = NONE;
    this.element.hidden = true;
    this.picture.draw();
  }

  /* The arrow of the critical path at a point: where it leads, why, and when. */
  arrowAt({x, y}) {
    const {arrows = []} = this.picture;
    const near = arrows.filter(({x: at, top, bottom}) => isWanted('path') && Math.abs(at - x) <= NEAR_ARROW && y >= top && y <= bottom);
    return near.sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))[0] || null;
  }

  tellArrow({from, to, hold, time}) {
    const {lanes, holds, from: origin} = job();
    const [kind, , evidence] = holds[hold];
    const label = (lane) => (lane >= 0 ? lanes[lane].label : 'work outside this picture');
    const why = kind + (evidence ? ' (' + evidence + ')' : '');
    return [
      create('p', 'name', {}, 'Critical path: ' + why),
      create('p', 'where', {}, 'from ' + label(from) + ' to ' + label(to) + ', at ' + formatMoment(time - origin, 1e5)),
    ];
  }

  /* Of the task at a point, and what its lane's columns tell of its kind; without a task, what the column there tells. */
  show(event, point) {
    const {picture} = this;
    const arrow = this.arrowAt(point);
    if (arrow) {
      this.task = NONE;
      this.element.hidden = false;
      this.element.replaceChildren(...this.tellArrow(arrow));
      this.place(event);
      picture.draw();
      return;
    }
    const number = picture.taskAt(point);
    const [from, until] = job().window;
    const time = picture.view.timeOf(point.x);
    const idle = number === NONE && time >= from && time < until; /* every task is on the page there */
    const told = idle ? '' : toldAt(picture, point, number === NONE ? '' : taskOf(number).css);
    this.task = number;
    this.element.hidden = number === NONE ? told === '' : number === state.pinned;
    if (!this.element.hidden) {
      const what = number === NONE ? [create('p', 'note', {}, 'Too short to be on this page one by one.')] : describe(number);
      this.element.replaceChildren(...what, ...(told ? [create('p', 'note', {}, 'On this lane' + told)] : []));
      this.place(event);
    }
    picture.draw();
  }

  /* Below the pointer or above it, inside the window. */
  place({clientX, clientY}) {
    const {width, height} = this.element.getBoundingClientRect();
    const below = clientY + 22 + height < innerHeight;
    this.element.style.left = between(clientX + 14, 8, Math.max(8, innerWidth - width - 8)) + 'px';
    this.element.style.top = (below ? clientY + 22 : Math.max(8, clientY - 22 - height)) + 'px';
  }
}
