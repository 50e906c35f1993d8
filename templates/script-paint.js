/* What is painted over the page's own drawing: on a canvas the work of the span that is shown, names, the critical path, and marks for what
   was searched for, the task at the pointer and the pinned one. Lengths are the picture's own pixels, from the plot's left edge and the picture's top. */

const PALE = 0.3;
const MEASURED_ALPHA = 0.55; /* as in the page's own drawing */
const BEYOND = 10; /* how far what leaves the picture is painted */
const MOST_PIXELS = 16e6; /* browsers refuse canvases that are too large */
const MOST_HEIGHT = 16000;
const LEVELS = 4; /* a column's height is told in quarters */

const LEAST_LETTERS = 7; /* of a name that is cut */
const LEAST_NAME = 26; /* pixels; in less no name fits, */
const LEAST_HEIGHT = 11; /* nor in a bar that is lower */

/* Does the reader want the marks of doubtful waits, or the critical path? Each has a box on the page. */
const isWanted = (id) => {
  const box = document.getElementById(id);
  return box !== null && box.checked;
};

/* A name for a bar: without what all names of its kind begin with, and the arguments of templates and functions. */
const shortName = (name) =>
  name.replace(/^(void |autograd::engine::evaluate_function: )+/, '').replace(/^(\(anonymous namespace\)::|[\w]+::)+(?=\w+[<(])/, '').replace(/[<(].*$/, '') || name;

class Painter {
  constructor(picture) {
    this.picture = picture;
    this.canvas = create('canvas', '', {'aria-hidden': 'true'});
    this.context = this.canvas.getContext('2d');
  }

  paint() {
    const {picture, context} = this;
    this.clear();
    if (picture.view.span) {
      this.paintLanes((lane, place) => this.paintLane(lane, place));
      this.paintSteps();
    }
    this.paintLanes((lane, place) => this.paintNames(lane, place));
    if (search.found.length > 0) {
      this.paintLanes((lane, place) => this.paintFound(lane, place));
    }
    if (isWanted('path')) {
      new RoutePainter(this).paint();
    }
    if (picture.pointer.band) {
      const [left, right] = picture.pointer.band;
      context.globalAlpha = 0.18;
      context.fillStyle = colourOf('accent');
      context.fillRect(left, picture.top - 6, right - left, picture.bottom - picture.top + 12);
      context.globalAlpha = 1;
    }
    for (const number of new Set([picture.hint.task, state.pinned])) {
      if (number !== NONE && picture.holds(number)) {
        this.paintMark(taskOf(number));
      }
    }
  }

  /* As many pixels as the screen has there, counted as the picture counts. */
  clear() {
    const {canvas, context, picture} = this;
    const {width, height} = canvas.getBoundingClientRect();
    const ratio = Math.min(devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (width * height)), MOST_HEIGHT / height);
    const across = Math.max(1, Math.round(width * ratio));
    const down = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== across || canvas.height !== down) {
      canvas.width = across;
      canvas.height = down;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, across, down);
    context.setTransform(across / picture.view.width, 0, 0, down / picture.height, 0, 0);
  }

  /* A rectangle over a span of time, at least `least` wide; a wide one leaves a gap to the next. Nothing where the span is out of sight, nor
     where it is NaN: never measured. */
  bar(css, begin, end, top, height, {least = 0, gap = 0} = {}) {
    const {context, picture: {view}} = this;
    const {from, until} = view.shown;
    if (begin < until && end >= from) {
      const left = Math.max(view.placeOf(begin), -BEYOND);
      const width = Math.min(view.placeOf(end), view.width + BEYOND) - left;
      context.fillStyle = fillOf(context, css);
      context.fillRect(left, top, width > 8 ? width - gap : Math.max(width, least), height);
    }
  }

  paintLanes(paint) {
    const {lanes, tracks} = this.picture;
    lanes.forEach((lane, place) => tracks[place].hidden || paint(lane, place));
  }

  /* Above the simulated tasks, below the measured ones. */
  paintLane(lane, place) {
    const {context, picture} = this;
    const {y, height} = picture.tracks[place];
    const upper = picture.upperOf(height);
    const {names, kinds} = job();
    if (lane.leftOut > 0) {
      this.paintColumns(picture.columns()[place], y + upper, height / picture.folds.full[place].height);
      this.paintEarly(lane, y + upper, [upper, upper - height]);
    }
    for (const timeline of job().twice ? [MEASURED, SIMULATED] : [SIMULATED]) {
      const {start, dur} = lane.times[timeline];
      const [top, high] = timeline === MEASURED ? [y + upper, height - upper] : [y, upper];
      context.globalAlpha = timeline === MEASURED ? MEASURED_ALPHA : 1;
      for (let i = 0; i < lane.count; i++) {
        const [kind] = names[lane.names[i]];
        this.bar(kinds[kind][0], start[i], Math.min(start[i] + dur[i], lane.until), top, high, {least: 0.4, gap: 0.5});
      }
    }
    context.globalAlpha = 1;
    if (isWanted('marks')) {
      for (const [, kind, from, until] of lane.waits) {
        this.bar(job().doubts[kind], from, until, y - 4, 4, {least: 0.7});
      }
    }
  }

  /* The page's own columns, pale, but not where every task is on the page. */
  paintColumns(paths, base, scale) {
    const {context, picture} = this;
    const {from, until} = picture.view.whole;
    const column = (until - from) / picture.view.width;
    const [known, unknown] = job().window;
    context.globalAlpha = PALE;
    for (const {css, cells} of paths) {
      for (const {x, width, height} of cells) {
        const top = height > 0 ? base - height * scale : base;
        const begin = from + x * column;
        const end = from + (x + width) * column;
        for (const [one, other] of [[begin, Math.min(end, known)], [Math.max(begin, unknown), end]]) {
          if (other > one) {
            this.bar(css, one, other, top, Math.abs(height) * scale);
          }
        }
      }
    }
    context.globalAlpha = 1;
  }

  /* The same before the first step, which the page's own drawing does not show: simulated work stands, measured work hangs. */
  paintEarly({early}, base, heights) {
    const {context} = this;
    const {begin, from, early_column: column, kinds} = job();
    context.globalAlpha = PALE;
    early.forEach((cells, hangs) => {
      for (let i = 0; i < cells.length; i += 4) {
        const [kind, x, width, level] = cells.slice(i, i + 4);
        const height = heights[hangs] * level / LEVELS;
        this.bar(kinds[kind][0], begin + x * column, Math.min(begin + (x + width) * column, from), base - Math.max(height, 0), Math.abs(height));
      }
    });
    context.globalAlpha = 1;
  }

  /* Names in the bars where they fit. */
  paintNames(lane, place) {
    const {context, picture, picture: {view}} = this;
    const {y, height} = picture.tracks[place];
    const upper = picture.upperOf(height);
    if (upper < LEAST_HEIGHT) {
      return;
    }
    const {names, kinds} = job();
    const {start, dur} = lane.times[SIMULATED];
    const least = view.timeOf(LEAST_NAME) - view.timeOf(0);
    context.font = Math.min(11, upper - 1.5) + 'px ' + colourOf('sans');
    context.textBaseline = 'middle';
    for (let i = 0; i < lane.count; i++) {
      if (dur[i] >= least) {
        const left = Math.max(view.placeOf(start[i]), 0);
        const room = Math.min(view.placeOf(Math.min(start[i] + dur[i], lane.until)), view.width) - left - 6;
        const [kind, name] = names[lane.names[i]];
        const text = room < LEAST_NAME - 6 ? '' : this.fitted(shortName(textAt(name)), room);
        context.fillStyle = colourOf(kinds[kind][0] + '-ink');
        context.fillText(text, left + 3, y + upper / 2 + 0.5);
      }
    }
  }

  /* As much of a name as has room; nothing where that says nothing. */
  fitted(name, room) {
    const width = this.context.measureText(name).width;
    if (width <= room) {
      return name;
    }
    const kept = Math.floor(name.length * room / width) - 1;
    return kept < LEAST_LETTERS ? '' : name.slice(0, kept) + '\u2026';
  }

  /* A line below what was searched for. */
  paintFound(lane, place) {
    const {y, height} = this.picture.tracks[place];
    const {start, dur} = lane.times[SIMULATED];
    for (let i = 0; i < lane.count; i++) {
      if (search.names.has(lane.names[i])) {
        this.bar('accent', start[i], start[i] + dur[i], y + height - 1, 3, {least: 1.5});
      }
    }
  }

  /* Where steps begin and end. */
  paintSteps() {
    const {context, picture} = this;
    let last = -Infinity;
    context.strokeStyle = colourOf('step');
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    for (const x of job().steps.flatMap(([, start, end]) => [start, end]).map((time) => picture.view.placeOf(time))) {
      if (x >= 0 && x <= picture.view.width && x - last >= 4) {
        context.moveTo(x, 6);
        context.lineTo(x, picture.bottom);
        last = x;
      }
    }
    context.stroke();
    context.setLineDash([]);
  }

  /* Where an instant of a task stands. */
  spot(task, time) {
    const {view} = this.picture;
    const {y, height} = this.picture.trackOf(task);
    return {x: between(view.placeOf(time), -2 * BEYOND, view.width + 2 * BEYOND), y: y + this.picture.upperOf(height) / 2};
  }

  /* A frame around a task, and a line from what held it. */
  paintMark(task) {
    const {context, picture} = this;
    const {y, height} = picture.trackOf(task);
    const left = this.spot(task, task.start).x;
    const right = this.spot(task, task.start + task.dur).x;
    context.strokeStyle = context.fillStyle = colourOf('accent');
    context.lineWidth = 1.5;
    context.strokeRect(left - 1, y - 1, Math.max(right - left, 1) + 2, height + 2);
    const cause = causeOf(task);
    if (cause >= 0 && picture.holds(cause)) {
      const other = taskOf(cause);
      const from = this.spot(other, other.start + other.dur);
      const to = this.spot(task, task.lane.ends.has(task.place) ? task.start + task.dur : task.start);
      context.beginPath();
      context.moveTo(from.x, from.y);
      context.bezierCurveTo(from.x + 14, from.y, to.x - 14, to.y, to.x, to.y);
      context.stroke();
      context.beginPath();
      context.arc(from.x, from.y, 2.5, 0, 2 * Math.PI);
      context.fill();
    }
  }
}
