/* The graph of what the step waits for: larger and smaller, and drawn about with the pointer where it is larger than its frame. Its boxes lead
   to the timeline: by a click, or by Enter on the one that arrow keys have gone to. */

class Sheet {
  constructor(region) {
    this.region = region;
    this.svg = region.querySelector('svg');
    this.natural = this.svg.viewBox.baseVal.width;
    this.height = this.svg.viewBox.baseVal.height;
    region.before(toolbar('Size of the graph',
      button('', '+', 'Enlarge the graph', () => this.zoom(1.4)),
      button('', MINUS, 'Shrink the graph', () => this.zoom(1 / 1.4)),
      button('', 'Fit graph', 'Fit graph into the window', () => this.fit()),
      button('', 'Reset size', 'Reset size of the graph', () => this.set(null))));
    this.boxes = pictures.length > 0 ? Array.from(this.svg.querySelectorAll('g.box')) : [];
    this.boxes.forEach((box, i) => this.upgrade(box, i));
    region.addEventListener('keydown', (event) => runKey(event, {
      '+': () => this.zoom(1.4),
      '=': () => this.zoom(1.4),
      '-': () => this.zoom(1 / 1.4),
      '0': () => this.set(null),
    }));
    region.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.zoom(1 / wheelFactor(event), event);
      }
    }, {passive: false});
    region.addEventListener('pointerdown', (event) => this.drag(event));
    this.firstSeen = new ResizeObserver(() => this.begin());
    this.firstSeen.observe(region);
  }

  /* In a window that is narrower than the graph the first box is in sight, once the graph is; times stand left of it. */
  begin() {
    const [box] = this.boxes;
    if (this.region.clientWidth > 0 && box) {
      this.firstSeen.disconnect();
      const at = box.getBoundingClientRect(), frame = this.region.getBoundingClientRect();
      this.region.scrollLeft += Math.max(0, Math.min(at.left - frame.left - 12, at.right + 12 - frame.right));
    }
  }

  /* A box becomes a button that is called what it says; the Tab key comes to one of them. */
  upgrade(box, number) {
    this.svg.setAttribute('role', 'group');
    const attributes = {role: 'button', tabindex: number === 0 ? '0' : '-1', 'aria-description': 'Go to it in the timeline'};
    Object.entries(attributes).forEach(([key, value]) => box.setAttribute(key, value));
    const go = () => goToView(box.dataset.view);
    const walk = (step) => () => this.focus(between(number + step, 0, this.boxes.length - 1));
    box.addEventListener('click', go);
    box.addEventListener('keydown', (event) => runKey(event, {Enter: go, ' ': go, ArrowDown: walk(1), ArrowUp: walk(-1), ArrowRight: walk(1), ArrowLeft: walk(-1)}));
  }

  focus(number) {
    this.boxes.forEach((box, i) => box.setAttribute('tabindex', i === number ? '0' : '-1'));
    this.boxes[number].focus();
  }

  get shown() {
    return this.svg.getBoundingClientRect().width / this.natural;
  }

  /* Around the pointer, or the middle of the frame. */
  zoom(factor, event) {
    const frame = this.region.getBoundingClientRect();
    const x = event ? event.clientX - frame.left : frame.width / 2;
    const y = event ? event.clientY - frame.top : frame.height / 2;
    const old = this.shown;
    this.set(between(old * factor, 0.15, 6));
    const grown = this.shown / old;
    this.region.scrollLeft = (this.region.scrollLeft + x) * grown - x;
    this.region.scrollTop = (this.region.scrollTop + y) * grown - y;
  }

  fit() {
    this.set(Math.min(this.region.clientWidth / this.natural, (innerHeight - 120) / this.height));
  }

  /* null: as wide as the page has it. */
  set(scale) {
    this.region.classList.toggle('sized', scale !== null);
    this.svg.style.width = scale === null ? '' : this.natural * scale + 'px';
  }

  drag(event) {
    if (event.button !== 0 || event.pointerType === 'touch' || event.target === this.region) {
      return;
    }
    const {scrollLeft, scrollTop} = this.region;
    let dragging = false; /* a press that does not move is a click, on what it is on */
    const move = (moved) => {
      if (!dragging && Math.hypot(event.clientX - moved.clientX, event.clientY - moved.clientY) <= LEAST_DRAG) {
        return;
      }
      dragging = dragging || (this.region.setPointerCapture(event.pointerId), true);
      this.region.scrollLeft = scrollLeft + event.clientX - moved.clientX;
      this.region.scrollTop = scrollTop + event.clientY - moved.clientY;
    };
    this.region.addEventListener('pointermove', move);
    const end = () => this.region.removeEventListener('pointermove', move);
    this.region.addEventListener('pointerup', end, {once: true});
    this.region.addEventListener('pointercancel', end, {once: true});
  }
}
