/* Which span of time a picture shows: everything, or a part that zooming and panning choose. Here is no drawing: whoever makes a View is
   told of every change. A point of the picture is its distance from the plot's left edge, in the picture's own pixels. */

const LEAST_SPAN = 100; /* ns across the picture */
const GLIDE = 160; /* ms from one span to another */

class View {
  /* `width`: of the plot; `changed(settled)`: called for every step of a glide, and with true at its end. */
  constructor(width, changed) {
    this.width = width;
    this.changed = changed;
    this.span = null; /* {from, until}; null: everything, as drawn without scripts */
    this.goal = null; /* where a glide leads; else as the span */
  }

  get whole() {
    const {from, column, pixels} = job();
    return {from, until: from + this.width / pixels * column};
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
    const {from, until} = this.whole;
    this.goal = null;
    if (wanted) {
      const across = between(wanted.until - wanted.from, LEAST_SPAN, until - from);
      const begin = between(wanted.from, from, until - across);
      this.goal = across === until - from ? null : {from: begin, until: begin + across};
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

  /* Show so many times the time, around an instant that stays where it is. */
  zoom(factor, around, glide) {
    const {from, until} = this.goal || this.whole;
    this.go({from: around - (around - from) * factor, until: around + (until - around) * factor}, glide);
  }

  /* A factor of what is shown; -Infinity and Infinity: to the ends. */
  pan(share) {
    if (this.span) {
      const {from, until} = this.span;
      const whole = this.whole.until - this.whole.from;
      const by = between((until - from) * share, -whole, whole);
      this.go({from: from + by, until: until + by}, false);
    }
  }

  /* Bring a task into view, large enough to be seen. */
  reveal({start, dur}) {
    const {from, until} = this.shown;
    const small = dur / (until - from) * this.width < 4;
    if (small || start < from || start + dur > until) {
      const across = small && dur > 0 ? Math.min(until - from, dur * 30) : until - from;
      const middle = start + Math.min(dur, across) / 2;
      this.go({from: middle - across / 2, until: middle + across / 2});
    }
  }

  /* Let a task fill a fifth of the picture. */
  close({start, dur}) {
    const around = Math.max(dur, LEAST_SPAN) * 2;
    this.go({from: start - around, until: start + dur + around});
  }
}
