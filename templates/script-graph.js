/* The graph of what the step waits for: larger and smaller, and drawn about with the pointer where it is larger than its frame. */

class Sheet {
  constructor(region) {
    this.region = region;
    this.svg = region.querySelector('svg');
    this.natural = this.svg.viewBox.baseVal.width;
    this.height = this.svg.viewBox.baseVal.height;
    region.before(toolbar('Size of the graph',
      button('', '+', 'Larger', () => this.zoom(1.4)),
      button('', MINUS, 'Smaller', () => this.zoom(1 / 1.4)),
      button('', 'Fit', 'Fit into the window', () => this.fit()),
      button('', 'Reset', 'Reset to its own size', () => this.set(null))));
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
    const move = (moved) => {
      this.region.scrollLeft = scrollLeft + event.clientX - moved.clientX;
      this.region.scrollTop = scrollTop + event.clientY - moved.clientY;
    };
    this.region.setPointerCapture(event.pointerId);
    this.region.addEventListener('pointermove', move);
    const end = () => this.region.removeEventListener('pointermove', move);
    this.region.addEventListener('pointerup', end, {once: true});
    this.region.addEventListener('pointercancel', end, {once: true});
  }
}
