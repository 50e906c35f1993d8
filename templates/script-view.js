/* Which span of time a picture shows: everything from the first step on, or a part that zooming and panning choose, which may begin before
   that. Here is no drawing: whoever makes a View is told of every change. A point of the picture is its distance from the plot's left edge, in the picture's own pixels. */

const LEAST_SPAN = 100; /* ns across the picture */
const GLIDE = 160; /* ms from one span to another */

class View {
  /* `width`: of the plot; `changed(settled)`: called for every step of a glide, and with true at its end. */
  constructor(width, changed) {
    this.width = width;
    this.changed = changed;
    this.span = null; /* {from, until}; null: everything, as drawn without scripts */
    this.goal = null; /* where a glide leads; else as the span */
    this.early = false; /* the reader wants to see what came before the first step, too */
  }

  get whole() {
    const {from, column, pixels} = job();
    return {from, until: from + this.width / pixels * column};
  }

  /* How far a reader can go. */
  get limit() {
    return {from: this.early ? Math.min(job().begin, this.whole.from) : this.whole.from, until: this.whole.until};
  }

  get shown() {
    return this.span || this.whole;
  }

  timeOf(x) {
    const {from, until} = this.shown;
    return from + x / this.width * (until - from);
  }

  placeOf(time) {
    const {from, until} = this.shown;
    return (time - from) / (until - from) * this.width;
  }

  /* Show a span, or everything with null. */
  go(wanted, glide = true) {
    this.early = this.early && wanted !== null;
    const {whole, limit: {from, until}} = this;
    this.goal = null;
    if (wanted) {
      const across = between(wanted.until - wanted.from, LEAST_SPAN, until - from);
      const begin = between(wanted.from, from, until - across);
      this.goal = begin === whole.from && begin + across === whole.until ? null : {from: begin, until: begin + across};
    }
    if (glide && !calm() && !document.hidden) {
      this.glide(this.shown, this.goal);
    } else {
      this.span = this.goal;
      this.changed(true);
    }
  }

  glide(old, goal) {
    const {from, until} = goal || this.whole;
    const start = performance.now();
    const step = (now) => {
      if (this.goal !== goal) {
        return; /* another one has begun */
      }
      const left = 1 - between((now - start) / GLIDE, 0, 1);
      const rest = left * left; /* slower towards the end */
      this.span = left === 0 ? goal : {from: from + (old.from - from) * rest, until: until + (old.until - until) * rest};
      this.changed(left === 0);
      if (left > 0) {
        requestAnimationFrame(step);
      }
    };
    requestAnimationFrame(step);
  }

  /* Show so many times the time, around an instant that stays where it is; wider than the whole picture is the whole picture. */
  zoom(factor, around, glide) {
    const {from, until} = this.goal || this.whole;
    const wide = {from: around - (around - from) * factor, until: around + (until - around) * factor};
    this.go(factor > 1 && wide.until - wide.from >= this.whole.until - this.whole.from ? null : wide, glide);
  }

  /* A factor of what is shown; -Infinity and Infinity: to the ends. */
  pan(share) {
    if (this.span) {
      const {from, until} = this.span;
      const whole = this.limit.until - this.limit.from;
      const by = between((until - from) * share, -whole, whole);
      this.go({from: from + by, until: until + by}, false);
    }
  }

  /* What came before the first step, beside as much of what followed. */
  goEarly() {
    this.early = true;
    const {limit, whole} = this;
    this.go({from: limit.from, until: Math.min(2 * whole.from - limit.from, whole.until)});
  }

  /* Bring a task into view, large enough to be seen. */
  reveal({start, dur}) {
    const {from, until} = this.shown;
    this.early = this.early || start < this.whole.from;
    const small = dur / (until - from) * this.width < 4;
    if (small || start < from || start + dur > until) {
      const across = small && dur > 0 ? Math.min(until - from, dur * 30) : until - from;
      const middle = start + Math.min(dur, across) / 2;
      this.go({from: middle - across / 2, until: middle + across / 2});
    }
  }

  /* Let a task fill a fifth of the picture. */
  close({start, dur}) {
    this.early = this.early || start < this.whole.from;
    const around = Math.max(dur, LEAST_SPAN) * 2;
    this.go({from: start - around, until: start + dur + around});
  }
}
