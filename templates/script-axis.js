/* The axis of a span that is shown: times above and below the lanes, and the names of steps. It is an SVG over the page's own drawing. */

const TEXT_WIDTH = 6.6; /* of a digit, in the picture's pixels */

class Axis {
  constructor(picture) {
    this.picture = picture;
    this.svg = this.mark('svg', 'axis', {viewBox: '0 0 ' + picture.width + ' ' + picture.height, 'aria-hidden': 'true'});
  }

  mark(name, css, attributes, ...children) {
    const made = document.createElementNS(this.picture.svg.namespaceURI, name);
    for (const [key, value] of Object.entries({class: css, ...attributes})) {
      made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  draw() {
    this.svg.replaceChildren(...(this.picture.view.span ? [...this.ticks(), ...this.steps()] : []));
  }

  /* 1, 2 or 5 times a power of ten apart, as many as have room for their labels. */
  distance() {
    const {span: {from, until}, width} = this.picture.view;
    let distance = 1;
    for (let i = 0; ; i++) {
      const label = formatTick(Math.trunc(until / distance) * distance, distance);
      const room = Math.min(12, width / (label.length * TEXT_WIDTH + 16));
      if ((until - from) / distance <= room) {
        return distance;
      }
      distance *= i % 3 === 1 ? 2.5 : 2;
    }
  }

  ticks() {
    const {view, left, width, top, bottom} = this.picture;
    const {from, until} = view.span;
    const distance = this.distance();
    const marks = [];
    let taken = -Infinity;
    for (let tick = Math.ceil(from / distance); tick * distance <= until; tick++) {
      const x = left + view.placeOf(tick * distance);
      const label = formatTick(tick * distance, distance);
      const half = label.length * TEXT_WIDTH / 2;
      const middle = Math.min(x, width - half);
      marks.push(this.mark('line', 'rule', {x1: x, x2: x, y1: top - 6, y2: bottom}));
      if (middle - half > taken) {
        for (const y of [top - 10, bottom + 14]) {
          marks.push(this.mark('text', 'muted small', {x: middle, y, 'text-anchor': 'middle'}, label));
        }
        taken = middle + half;
      }
    }
    return marks;
  }

  steps() {
    const {view, left, top} = this.picture;
    const {from, until} = view.span;
    const marks = [];
    let taken = -Infinity;
    for (const [number, start, end] of job().steps) {
      const x = left + view.placeOf(Math.max(start, from)) + 6;
      if (start < until && end > from && x > taken) {
        const label = 'step ' + number;
        marks.push(this.mark('text', 'ink strong', {x, y: top - 28}, label));
        taken = x + label.length * TEXT_WIDTH + 6;
      }
    }
    return marks;
  }
}
