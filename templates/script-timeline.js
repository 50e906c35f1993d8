/* A timeline that zooms. The page draws it whole without scripts; over that drawing come a canvas (script-paint.js) and an axis
   (script-axis.js), and while only a span is shown the drawing's own work, times and steps are hidden: they are of the class "far". Which
   span, script-view.js knows; it is chosen with buttons, pointer (script-pointer.js) and keys. */

const pictures = []; /* the timeline, and that of the lanes folded away */
const state = {pinned: NONE}; /* of all pictures: the pinned task */

const KEYS = 'Drag across the picture to zoom into a span; once zoomed, drag pans, and Shift with drag selects. Ctrl with the wheel zooms ' +
  'around the pointer. With the picture focused: W and S or + and \u2212 zoom, A and D, arrow keys, Home and End pan, 0 fits all, / finds. ' +
  'Point at a task to read of it; a click, or Enter for the one in the middle, pins it. Then arrow keys go to its neighbors, C to its ' +
  'blocker, L to its launch, Z zooms to it, Esc closes it.';

class Timeline {
  /* `firstLane`: the number of the picture's uppermost lane among all. */
  constructor(region, firstLane) {
    this.region = region;
    this.svg = region.querySelector('svg');
    this.firstLane = firstLane;
    this.measure();
    this.frame = 0;
    this.columns = once(() => readColumns(this.svg));
    this.view = new View(this.plot, (settled) => this.changed(settled));
    this.painter = new Painter(this);
    this.axis = new Axis(this);
    this.hint = new Hint(this);
    this.pointer = new Pointer(this);
    this.build();
    this.folds = new Folds(this);
    region.addEventListener('keydown', (event) => this.key(event));
    this.panel.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.layers);
  }

  /* Where the page's own drawing has the lanes. */
  measure() {
    this.tracks = Array.from(this.svg.querySelectorAll('rect.track'), ({x, y, width, height}) =>
      ({x: x.baseVal.value, y: y.baseVal.value, width: width.baseVal.value, height: height.baseVal.value}));
    this.width = this.svg.viewBox.baseVal.width;
    this.height = this.svg.viewBox.baseVal.height;
    this.left = this.tracks[0].x;
    this.top = Math.min(...this.tracks.map(({y}) => y));
    this.bottom = Math.max(...this.tracks.map(({y, height}) => y + height));
    this.plot = Math.max(...this.tracks.map(({width}) => width)); /* of several jobs, lanes of shorter steps are shorter */
  }

  build() {
    const {canvas} = this.painter;
    canvas.style.left = 100 * this.left / this.width + '%';
    canvas.style.width = 100 * this.view.width / this.width + '%';
    for (const mark of this.svg.children) {
      mark.classList.toggle('far', !mark.matches('title, desc, defs, rect.track') && !this.namesLane(mark));
    }
    this.layers = create('div', 'layers', {});
    this.svg.before(this.layers);
    this.layers.append(this.svg, this.axis.svg, canvas);
    this.span = create('span', 'span', {});
    this.note = create('p', 'rest', {});
    this.status = create('p', 'unseen', {role: 'status'});
    this.panel = create('div', 'task', {role: 'group', 'aria-label': 'The pinned task', hidden: ''});
    this.region.before(toolbar('Zoom and search of the timeline',
      button('', '+', 'Zoom in', () => this.zoom(0.5)),
      button('', MINUS, 'Zoom out', () => this.zoom(2)),
      button('', 'Fit all', 'Fit all', () => this.view.go(null)),
      ...this.earlyButton(),
      ...(this.firstLane === 0 ? [(this.search = new SearchBox(this)).element] : []),
      this.span));
    this.region.after(this.note,
      create('details', 'keys', {}, create('summary', '', {}, 'Mouse and keys'), create('p', 'reading', {}, KEYS)),
      this.panel, this.hint.element, this.status);
  }

  /* What came before the first step is not in the page's own drawing, but in columns of its own (script-paint.js). */
  earlyButton() {
    const {begin, from, steps: [first]} = job();
    return begin < from && first ? [button('', 'Show what came before', 'Show what came before step ' + first[0], () => this.view.goEarly())] : [];
  }

  /* How high simulated tasks are on a lane of a height; measured ones have the rest. */
  upperOf(height) {
    return job().twice ? height * 2 / 3 : height;
  }

  /* A text to the left of the lanes, at their height or just above the first. */
  namesLane(mark) {
    const at = (key) => Number(mark.getAttribute(key));
    return mark.matches('text') && at('x') < this.left - 5 && at('y') > this.top - 10 && at('y') < this.bottom;
  }

  /* The ground of lanes that end before the picture does. */
  drawGrounds() {
    this.lanes.forEach(({until}, i) => {
      if (until < Infinity) {
        this.folds.rects[i].setAttribute('width', between(this.view.placeOf(until), 0, this.view.width));
      }
    });
  }

  get lanes() {
    return job().lanes.slice(this.firstLane, this.firstLane + this.tracks.length);
  }

  trackOf({lane}) {
    return this.tracks[lane.number - this.firstLane];
  }

  /* Is the task drawn here? */
  holds(number) {
    return this.trackOf(taskOf(number)) !== undefined;
  }

  /* Where an event is: in the picture's own pixels, from the plot's left edge and the picture's top. */
  point(event) {
    const box = this.painter.canvas.getBoundingClientRect();
    return {
      x: (event.clientX - box.left) * this.view.width / box.width,
      y: (event.clientY - box.top) * this.height / box.height,
    };
  }

  /* The lane at a point, its place in this picture, and the timeline that its upper or lower half has; null beside the lanes. */
  laneAt({y}) {
    const place = this.tracks.findIndex((track) => !track.hidden && y >= track.y && y <= track.y + track.height);
    const track = this.tracks[place];
    return track ? {place, lane: this.lanes[place], timeline: y > track.y + this.upperOf(track.height) ? MEASURED : SIMULATED} : null;
  }

  /* The task at a point, or within two pixels of it; NONE: there is none. */
  taskAt(point) {
    const at = this.laneAt(point);
    const time = this.view.timeOf(point.x);
    return at ? nearestTask(at.lane, at.timeline, time, time, this.view.timeOf(2) - this.view.timeOf(0)) : NONE;
  }

  /* For readers who listen. */
  say(text) {
    this.status.textContent = text;
  }

  /* Around the pinned task where it is in sight, else around the middle. */
  zoom(factor) {
    const {from, until} = this.view.goal || this.view.whole;
    const task = state.pinned !== NONE && this.holds(state.pinned) ? taskOf(state.pinned) : null;
    const middle = task ? task.start + task.dur / 2 : NaN;
    this.view.zoom(factor, middle > from && middle < until ? middle : (from + until) / 2);
  }

  key(event) {
    const {view} = this;
    const actions = {'+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), '0': () => view.go(null),
      w: () => this.zoom(0.5), s: () => this.zoom(2), a: () => view.pan(-0.2), d: () => view.pan(0.2),
      '/': () => pictures[0].search.input.focus()};
    if (state.pinned !== NONE && this.holds(state.pinned)) {
      Object.assign(actions, pinKeys(taskOf(state.pinned), this));
    } else {
      actions.Escape = () => view.go(null);
      if (event.target.closest('button') === null) {
        actions.Enter = () => pinMiddle(this);
      }
      if (view.span) {
        const shares = {ArrowLeft: -0.2, ArrowRight: 0.2, Home: -Infinity, End: Infinity};
        Object.keys(shares).forEach((key) => (actions[key] = () => view.pan(shares[key])));
      }
    }
    runKey(event, actions);
  }

  /* All pictures show the same span. */
  changed(settled) {
    for (const one of pictures) {
      Object.assign(one.view, {span: this.view.span, goal: this.view.goal, early: this.view.early});
      if (settled) {
        one.settle();
      } else {
        one.draw();
      }
    }
    if (settled) {
      writeLink(this);
    }
  }

  /* The view stands still: say what it shows. */
  settle() {
    const {span} = this.view;
    const leftOut = this.lanes.reduce((sum, lane) => sum + lane.leftOut, 0);
    const wide = span ? Math.round(span.until - span.from) : 0;
    this.span.textContent = !span ? '' :
      formatMoment(span.from, wide) + ' to ' + formatMoment(span.until, wide) + ', ' + formatTime(wide) + ' across';
    this.note.textContent = !span || leftOut === 0 ? '' :
      'Pale columns stand for ' + formatCount(leftOut) + ' shorter tasks that are not on this page one by one: what looks empty there ' +
      'need not have been idle.';
    this.say(span ? 'Shown: ' + this.span.textContent : 'Shown: all steps');
    this.draw();
  }

  /* Anew with the screen's next frame, unless folded away. */
  draw() {
    this.frame = this.frame || requestAnimationFrame(() => {
      this.frame = 0;
      if (this.layers.clientWidth > 0) {
        this.layers.classList.toggle('near', this.view.span !== null);
        this.drawGrounds();
        this.painter.paint();
        this.axis.draw();
      }
    });
  }
}
