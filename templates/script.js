/* What the page does beyond being read: the timeline zooms down to single tasks, tables sort. Without scripts nothing is missing that a
   reader needs. No library, nothing from outside, no markup made from data: names from traces only ever become text.

   The tasks stand in the block lumos-tasks (src/report/content/packed.c says how), the tables' values in lumos-summary. Times are numbers of
   nanoseconds, counted as the axis counts. */
(() => {
'use strict';

/* ---- Helpers ---- */

const once = (make) => {
  let made = false;
  let value;
  return () => {
    if (!made) {
      value = make();
      made = true;
    }
    return value;
  };
};

const embedded = (id) => once(() => JSON.parse(document.getElementById(id).textContent));

/* An element with a class, attributes, and children: elements or texts. */
const create = (name, css, attributes, ...children) => {
  const element = document.createElement(name);
  element.className = css;
  for (const key of Object.keys(attributes)) {
    element.setAttribute(key, attributes[key]);
  }
  element.append(...children);
  return element;
};

const button = (css, text, label, press) => {
  const element = create('button', css, {type: 'button'}, text);
  if (label !== text) {
    element.setAttribute('aria-label', label);
    element.title = label;
  }
  element.addEventListener('click', press);
  return element;
};

const between = (value, least, most) => Math.max(least, Math.min(most, value));

const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/* ---- Numbers look as src/report/text/numbers.c makes them look ---- */

const SPACE = '\u00a0';
const MINUS = '\u2212';
const UNITS = [['ns', 1], ['\u00b5s', 1e3], ['ms', 1e6], ['s', 1e9]];

const rounded = (magnitude, divisor) => {
  const rest = magnitude % divisor;
  return (magnitude - rest) / divisor + (rest >= divisor - Math.floor(divisor / 2) ? 1 : 0);
};

/* value / one with so many decimals; one is a power of ten. */
const formatFixed = (value, one, decimals) => {
  const scale = Math.pow(10, decimals);
  const units = rounded(Math.abs(value), one / scale);
  const whole = String(Math.floor(units / scale)).replace(/\B(?=(\d{3})+$)/g, ',');
  const sign = value < 0 && units > 0 ? MINUS : '';
  return sign + whole + (decimals > 0 ? '.' + String(units % scale).padStart(decimals, '0') : '');
};

const formatTime = (value) => {
  let magnitude = Math.abs(value);
  let [name, one] = UNITS[0];
  for (let i = 1; i < UNITS.length; i++) {
    if (magnitude >= UNITS[i][1] - Math.floor(UNITS[i - 1][1] / 20)) {
      [name, one] = UNITS[i];
      magnitude = Math.max(magnitude, one);
    }
  }
  const decimals = one === 1 ? 0 : rounded(magnitude, one / 100) >= 1e4 ? 1 : 2;
  return (value < 0 ? MINUS : '') + formatFixed(magnitude, one, decimals) + SPACE + name;
};

/* The label of an axis whose ticks are so far apart. */
const formatTick = (value, distance) => {
  let [name, one] = UNITS[0];
  for (const unit of UNITS) {
    [name, one] = distance >= unit[1] ? unit : [name, one];
  }
  return formatFixed(value, one, 0) + (value === 0 ? '' : SPACE + name);
};

const formatCount = (value) => formatFixed(value, 1, 0);

/* ---- The embedded tasks ---- */

const NONE = -1;
const NOT_EMBEDDED = -2;

/* The running sums of a column: null stays NONE, false NOT_EMBEDDED. */
const references = (column, count) => {
  const values = new Int32Array(count).fill(NONE);
  let last = 0;
  for (let i = 0; column && i < count; i++) {
    if (typeof column[i] === 'number') {
      last += column[i];
      values[i] = last;
    } else if (column[i] === false) {
      values[i] = NOT_EMBEDDED;
    }
  }
  return values;
};

const sums = (column) => {
  const values = new Float64Array(column.length);
  let last = 0;
  for (let i = 0; i < column.length; i++) {
    last += column[i];
    values[i] = last;
  }
  return values;
};

/* What was measured, from its differences to what was simulated; NaN: never measured. */
const measured = (simulated, differences) =>
  differences ? simulated.map((value, i) => (differences[i] === null ? NaN : value + differences[i])) : simulated;

const unpackLane = (packed, first) => {
  const count = packed.start.length;
  const start = sums(packed.start);
  const dur = Float64Array.from(packed.dur);
  const lane = {
    rank: packed.rank,
    name: packed.lane,
    label: 'rank ' + packed.rank + ', ' + packed.lane,
    leftOut: packed.left_out,
    first,
    count,
    times: [{start: measured(start, packed.measured_start), dur: measured(dur, packed.measured_dur)}, {start, dur}],
    names: packed.name,
    ids: sums(packed.task),
    calls: references(packed.call, count),
    held: references(packed.held, count),
    holds: packed.hold || new Array(count).fill(null),
    ends: new Map(),
  };
  for (const [place, source, hold] of packed.ends || []) {
    lane.ends.set(place, {source: source === null ? NONE : source === false ? NOT_EMBEDDED : source, hold});
  }
  return lane;
};

const summary = embedded('lumos-summary');

const MEASURED = 0;
const SIMULATED = 1;

const job = once(() => {
  const packed = embedded('lumos-tasks')();
  const lanes = [];
  let count = 0;
  for (const lane of packed.lanes) {
    lanes.push(unpackLane(lane, count));
    count += lane.start.length;
  }
  /* Where the chain runs through a task: from and until, by number; everywhere else NaN. */
  const chain = packed.chain || {step: null, tasks: [], parts: []};
  const chainFrom = new Float64Array(count).fill(NaN);
  const chainUntil = new Float64Array(count).fill(NaN);
  const onChain = sums(chain.tasks);
  const parts = new Map(chain.parts.map(([place, from, until]) => [place, [from, until]]));
  let lane = 0;
  onChain.forEach((number, place) => {
    while (number < lanes[lane].first || number >= lanes[lane].first + lanes[lane].count) {
      lane = (lane + 1) % lanes.length;
    }
    const {start, dur} = lanes[lane].times[SIMULATED];
    const at = number - lanes[lane].first;
    [chainFrom[number], chainUntil[number]] = parts.get(place) || [start[at], start[at] + dur[at]];
  });
  return {
    lanes,
    count,
    step: chain.step,
    chainFrom,
    chainUntil,
    from: packed.from,
    column: packed.column,
    pixels: packed.pixels,
    window: packed.window || [Infinity, Infinity],
    steps: packed.steps,
    kinds: packed.kinds,
    names: packed.names,
    holds: packed.holds,
  };
});

/* The task of a number: everything about it that texts and pictures need. */
const taskOf = (number) => {
  const {lanes, names, kinds} = job();
  let low = 0;
  let high = lanes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lanes[middle].first <= number) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const lane = lanes[low];
  const place = number - lane.first;
  const [kind, name] = names[lane.names[place]];
  return {
    number,
    lane,
    laneNumber: low,
    place,
    name,
    kind,
    css: kinds[kind][0],
    kindLabel: kinds[kind][1],
    id: lane.rank + ':' + lane.ids[place],
    start: lane.times[SIMULATED].start[place],
    dur: lane.times[SIMULATED].dur[place],
    measuredStart: lane.times[MEASURED].start[place],
    measuredDur: lane.times[MEASURED].dur[place],
    call: lane.calls[place],
  };
};

/* What held a task's end where that was not its duration, else its start: the next link of the chain back in time. */
const causeOf = (task) => {
  const end = task.lane.ends.get(task.place);
  return end && end.source >= 0 ? end.source : task.lane.held[task.place];
};

/* ---- What is told of a task ---- */

/* A name in a sentence, which need not be whole: a link where it leads somewhere. */
const nameOf = (number, follow) => {
  const task = taskOf(number);
  const name = Array.from(task.name.replace(/^void /, ''));
  const label = (name.length > 60 ? name.slice(0, 60).join('') + '\u2026' : name.join('')) + ' on ' + task.lane.label;
  return follow ? button('link', label, label, () => follow(number)) : create('b', '', {}, label);
};

/* "stream order: 1.79 µs after the end of gemm on rank 0, stream 7 (recorded)" */
const holdSentence = (instant, source, holdNumber, follow) => {
  const [kind, end, evidence] = job().holds[holdNumber];
  const line = create('span', '', {}, kind);
  if (source >= 0) {
    const task = taskOf(source);
    const lag = instant - (end === 'start' ? task.start : task.start + task.dur);
    const when = lag === 0 ? 'at' : formatTime(Math.abs(lag)) + (lag < 0 ? ' before' : ' after');
    line.append(': ' + when + ' the ' + end + ' of ', nameOf(source, follow));
  } else if (source === NOT_EMBEDDED) {
    line.append(': a task that is not on this page one by one');
  }
  line.append(evidence ? ' (' + evidence + ')' : '');
  return line;
};

const row = (list, term, value) => list.append(create('dt', '', {}, term), create('dd', '', {}, value));

/* Nanoseconds are kept: start and duration in microseconds with three decimals. */
const exact = (value) => (Number.isNaN(value) ? '\u2013' : formatFixed(value, 1e3, 3));

const timesTable = (task) => {
  const rows = [
    ['start', task.start, task.measuredStart],
    ['duration', task.dur, task.measuredDur],
    ['end', task.start + task.dur, task.measuredStart + task.measuredDur],
  ];
  const heading = (scope, text) => create('th', '', {scope}, text);
  const head = create('tr', '', {}, ...['\u00b5s', 'simulated', 'measured'].map((text) => heading('col', text)));
  const body = rows.map(([name, ...values]) =>
    create('tr', name, {}, heading('row', name), ...values.map((value) => create('td', '', {}, exact(value)))));
  return create('table', '', {}, create('thead', '', {}, head), create('tbody', '', {}, ...body));
};

/* `follow` is called with the number of a task that a link leads to; without it there are no links. */
const describe = (number, follow) => {
  const task = taskOf(number);
  const list = create('dl', '', {});
  const hold = task.lane.holds[task.place];
  const end = task.lane.ends.get(task.place);
  if (hold !== null) {
    row(list, 'start held by', holdSentence(task.start, task.lane.held[task.place], hold, follow));
  }
  if (end) {
    row(list, 'end held by', holdSentence(task.start + task.dur, end.source, end.hold, follow));
  }
  if (task.call >= 0) {
    row(list, 'launched by', nameOf(task.call, follow));
  } else if (task.call === NOT_EMBEDDED) {
    row(list, 'launched by', 'a call that is not on this page one by one');
  }
  const {step, chainFrom, chainUntil} = job();
  const share = chainUntil[number] - chainFrom[number];
  if (!Number.isNaN(share)) {
    row(list, 'chain', (share === task.dur ? 'all' : formatTime(share)) + ' of it is on the chain of step ' + step);
  }
  const [first] = job().steps;
  if (first) {
    row(list, 'times', 'count from the start of step ' + first[0]);
  }
  const fragment = document.createDocumentFragment();
  fragment.append(
    create('p', 'name', {}, task.name),
    create('p', 'where swatch ' + task.css, {}, task.kindLabel + ', ' + task.lane.label + ', task ' + task.id),
    create('div', 'known', {}, timesTable(task), list));
  return fragment;
};

/* The same in a sentence, for readers who listen. */
const announce = (number) => {
  const task = taskOf(number);
  return task.name + ', ' + task.kindLabel + ', ' + task.lane.label + ', starts at ' + formatTime(task.start) +
    ', takes ' + formatTime(task.dur);
};

/* ---- Colours: those of the style sheet ---- */

const colours = {made: new Map(), style: null};

const colourOf = (css) => {
  colours.style = colours.style || getComputedStyle(document.documentElement);
  return colours.style.getPropertyValue('--' + css).trim();
};

/* A paint with a second colour is hatched. */
const fillOf = (context, css) => {
  if (!colours.made.has(css)) {
    const second = colourOf(css + '-second');
    let fill = colourOf(css);
    if (second) {
      const tile = create('canvas', '', {width: 7, height: 7});
      const pen = tile.getContext('2d');
      pen.fillStyle = fill;
      pen.fillRect(0, 0, 7, 7);
      pen.strokeStyle = second;
      pen.lineWidth = 2;
      pen.lineCap = 'square';
      pen.beginPath();
      for (const shift of [-7, 0, 7]) {
        pen.moveTo(shift, 7);
        pen.lineTo(shift + 7, 0);
      }
      pen.stroke();
      fill = context.createPattern(tile, 'repeat');
    }
    colours.made.set(css, fill);
  }
  return colours.made.get(css);
};

const forgetColours = () => {
  colours.made.clear();
  colours.style = null;
};

/* ---- The timeline ---- */

const LEAST_SPAN = 100; /* ns across the picture */
const PALE = 0.3;
const MEASURED_ALPHA = 0.55; /* as in the picture without scripts */
const TEXT_WIDTH = 6.6; /* of a digit, in the picture's pixels */

const pictures = [];
const state = {pinned: NONE, chain: false};

/* The cells of an aggregated path: "M12 0h3v-9h-3z" is 3 columns wide from 12 on, and stands 9 high. */
const readCells = (path) => {
  const cells = [];
  for (const [, x, width, height] of path.getAttribute('d').matchAll(/M(-?\d+) 0h(\d+)v(-?\d+)h-\d+z/g)) {
    cells.push([Number(x), Number(width), -Number(height)]); /* above 0: it stands, below: it hangs */
  }
  const pattern = path.getAttribute('fill'); /* "url(#timeline-sync)" */
  return {css: pattern ? pattern.replace(/^url\(#[a-z]*-(.*)\)$/, '$1') : path.classList[0], told: path.textContent, cells};
};

class Timeline {
  /* `firstLane`: the number of the picture's uppermost lane among all. */
  constructor(region, firstLane) {
    this.region = region;
    this.svg = region.querySelector('svg');
    this.firstLane = firstLane;
    this.tracks = Array.from(this.svg.querySelectorAll('rect.track'), (rect) => ({
      x: rect.x.baseVal.value,
      y: rect.y.baseVal.value,
      width: rect.width.baseVal.value,
      height: rect.height.baseVal.value,
    }));
    this.hovered = NONE;
    this.drag = null;
    this.band = null;
    this.pointers = new Map();
    this.view = null; /* null: everything, as drawn without scripts */
    this.frame = 0;
    this.build();
    this.listen();
  }

  get lanes() {
    return job().lanes.slice(this.firstLane, this.firstLane + this.tracks.length);
  }

  get whole() {
    const {from, column, pixels} = job();
    return {from, until: from + this.tracks[0].width / pixels * column};
  }

  get shown() {
    return this.view || this.whole;
  }

  /* Where a glide leads. */
  get goal() {
    return this.target === undefined ? this.shown : this.target || this.whole;
  }

  /* What the columns hold, read when it is first needed. */
  get columns() {
    if (!this.read) {
      this.read = Array.from(this.svg.querySelectorAll('g'), (group) => Array.from(group.querySelectorAll('path'), readCells));
    }
    return this.read;
  }

  build() {
    const box = this.svg.viewBox.baseVal;
    const [track] = this.tracks;
    const last = this.tracks[this.tracks.length - 1];
    this.width = box.width;
    this.height = box.height;
    this.top = track.y;
    this.bottom = last.y + last.height;
    for (const mark of this.svg.children) {
      /* Names of lanes and the ground they stand on stay while the rest is drawn anew. */
      const stays = mark.matches('rect.track') || (mark.matches('text') && Number(mark.getAttribute('x')) < track.x - 5 &&
        Number(mark.getAttribute('y')) > this.top && Number(mark.getAttribute('y')) < this.bottom);
      mark.classList.toggle('far', !stays && !mark.matches('title, desc, defs'));
    }
    this.canvas = create('canvas', '', {'aria-hidden': 'true'});
    this.canvas.style.left = 100 * track.x / box.width + '%';
    this.canvas.style.width = 100 * track.width / box.width + '%';
    this.axis = document.createElementNS(this.svg.namespaceURI, 'svg');
    this.axis.setAttribute('class', 'axis');
    this.axis.setAttribute('viewBox', '0 0 ' + box.width + ' ' + box.height);
    this.axis.setAttribute('aria-hidden', 'true');
    this.layers = create('div', 'layers', {});
    this.svg.before(this.layers);
    this.layers.append(this.svg, this.axis, this.canvas);
    this.span = create('span', 'span', {});
    this.tools = create('div', 'tools', {role: 'toolbar', 'aria-label': 'Zoom of the timeline'},
      button('', '+', 'Zoom in', () => this.zoom(0.5)),
      button('', MINUS, 'Zoom out', () => this.zoom(2)),
      button('', 'Whole', 'Whole timeline', () => this.go(null)),
      this.chainSwitch(),
      this.span);
    this.note = create('p', 'rest', {});
    this.status = create('p', 'unseen', {role: 'status'});
    this.panel = create('div', 'task', {role: 'group', 'aria-label': 'The pinned task', hidden: ''});
    this.hint = create('div', 'task hint', {'aria-hidden': 'true', hidden: ''});
    this.keys = create('details', 'keys', {}, create('summary', '', {}, 'Mouse and keys'), create('p', 'reading', {},
      'Drag across the picture to zoom into a span; once zoomed, drag pans, and Shift with drag selects. Ctrl with the wheel zooms ' +
      'around the pointer. With the picture focused: + and \u2212 zoom, 0 shows all, arrow keys, Home and End pan. Point at a task to ' +
      'read of it; a click, or Enter for the one in the middle, pins it. Then the arrow keys lead to its neighbours, c to what held ' +
      'it, l to the call that launched it, z closer, Esc away.'));
    this.region.before(this.tools);
    this.region.after(this.note, this.keys, this.panel, this.hint, this.status);
  }

  /* A line over the tasks that the step waits for: which step is known once the tasks are read. */
  chainSwitch() {
    const made = button('', 'Chain', 'Chain: mark the tasks that the step waits for', () => {
      state.chain = !state.chain;
      for (const picture of pictures) {
        picture.chain.setAttribute('aria-pressed', String(state.chain));
        picture.draw();
      }
      this.status.textContent = !state.chain ? 'The chain is not marked' :
        job().step === null ? 'What the step waits for is not known' : 'The chain of step ' + job().step + ' is marked';
    });
    made.setAttribute('aria-pressed', 'false');
    this.chain = made;
    return made;
  }

  listen() {
    const surface = this.canvas;
    surface.addEventListener('pointerdown', (event) => this.press(event));
    surface.addEventListener('pointermove', (event) => this.move(event));
    surface.addEventListener('pointerup', (event) => this.release(event));
    surface.addEventListener('pointercancel', (event) => this.abandon(event));
    surface.addEventListener('pointerleave', () => this.hover(NONE));
    surface.addEventListener('dblclick', (event) => this.zoom(0.25, this.timeAt(event)));
    this.region.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    this.region.addEventListener('keydown', (event) => this.key(event));
    this.panel.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.layers);
  }

  /* ---- Places ---- */

  /* In the picture's own pixels, from the plot's left edge and the picture's top. */
  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return {
      x: (event.clientX - box.left) * this.tracks[0].width / box.width,
      y: (event.clientY - box.top) * this.height / box.height,
    };
  }

  timeOf(x) {
    const {from, until} = this.shown;
    return from + x / this.tracks[0].width * (until - from);
  }

  placeOf(time) {
    const {from, until} = this.shown;
    return (time - from) / (until - from) * this.tracks[0].width;
  }

  timeAt(event) {
    return this.timeOf(this.point(event).x);
  }

  /* The task that is nearest to a point, the longest of several; NONE beyond two pixels. */
  taskAt(point) {
    const number = this.tracks.findIndex((track) => point.y >= track.y && point.y <= track.y + track.height);
    if (number < 0) {
      return NONE;
    }
    const track = this.tracks[number];
    const lane = this.lanes[number];
    const times = lane.times[point.y > track.y + track.height / 2 ? MEASURED : SIMULATED];
    const time = this.timeOf(point.x);
    const reach = this.timeOf(2) - this.timeOf(0);
    let best = NONE;
    let nearest = reach;
    for (let i = 0; i < lane.count; i++) {
      const distance = Math.max(times.start[i] - time, time - times.start[i] - times.dur[i], 0);
      if (distance < nearest || (distance === nearest && best !== NONE && times.dur[i] > times.dur[best])) {
        best = i;
        nearest = distance;
      }
    }
    return best === NONE ? NONE : lane.first + best;
  }

  /* ---- Moving ---- */

  /* Show a span, or everything with null; in a short glide where motion is welcome. */
  go(view, glide = true) {
    const {from, until} = this.whole;
    if (view) {
      const span = between(view.until - view.from, LEAST_SPAN, until - from);
      const begin = between(view.from, from, until - span);
      view = span === until - from ? null : {from: begin, until: begin + span};
    }
    this.target = view;
    if (!glide || calm() || document.hidden) {
      this.view = view;
      this.settle();
      return;
    }
    const start = performance.now();
    const old = this.shown;
    const goal = view || this.whole;
    const step = (now) => {
      if (this.target !== view) {
        return; /* another glide has begun */
      }
      const part = between((now - start) / 160, 0, 1);
      const eased = 1 - (1 - part) * (1 - part);
      this.view = part === 1 ? view : {
        from: old.from + (goal.from - old.from) * eased,
        until: old.until + (goal.until - old.until) * eased,
      };
      if (part === 1) {
        this.settle();
      } else {
        this.draw();
        requestAnimationFrame(step);
      }
    };
    requestAnimationFrame(step);
  }

  settle() {
    const {from, until} = this.shown;
    this.layers.classList.toggle('near', this.view !== null);
    this.span.textContent = this.view === null ? '' :
      formatTime(from) + ' to ' + formatTime(until) + ', ' + formatTime(Math.round(until - from)) + ' across';
    this.status.textContent = this.view === null ? 'The whole timeline' : 'Shown: ' + this.span.textContent;
    const leftOut = this.lanes.reduce((sum, lane) => sum + lane.leftOut, 0);
    this.note.textContent = this.view === null || leftOut === 0 ? '' :
      'Pale columns stand for ' + formatCount(leftOut) + ' shorter tasks that are not on this page one by one: what looks empty there ' +
      'need not have been idle.';
    this.draw();
  }

  zoom(factor, centre) {
    const {from, until} = this.goal;
    let around = centre;
    if (around === undefined) {
      around = (from + until) / 2;
      if (state.pinned !== NONE && this.holds(state.pinned)) {
        const task = taskOf(state.pinned);
        const middle = task.start + task.dur / 2;
        around = middle > from && middle < until ? middle : around;
      }
    }
    this.go({from: around - (around - from) * factor, until: around + (until - around) * factor});
  }

  pan(share) {
    const {from, until} = this.shown;
    if (this.view) {
      this.go({from: from + (until - from) * share, until: until + (until - from) * share}, false);
    }
  }

  wheel(event) {
    const unit = event.deltaMode === 1 ? 16 : 1;
    const across = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const {from, until} = this.shown;
      const around = this.timeAt(event);
      const factor = Math.exp(between(event.deltaY * unit, -200, 200) * 0.004);
      this.go({from: around - (around - from) * factor, until: around + (until - around) * factor}, false);
    } else if (this.view && across !== 0 && Math.abs(across) >= Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      this.pan(across * unit / this.canvas.clientWidth);
    }
  }

  /* ---- Pointers: dragging pans what is zoomed and selects else, two fingers zoom ---- */

  press(event) {
    this.pointers.set(event.pointerId, this.point(event));
    if (event.button !== 0 || (event.pointerType === 'touch' && !this.view)) {
      this.drag = event.button === 0 ? {touch: true} : null;
      return;
    }
    const at = this.point(event);
    const selects = event.shiftKey || !this.view || at.y < this.top;
    this.drag = {at, view: this.shown, selects, moved: false};
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const at = this.point(event);
    if (this.pointers.size === 2 && this.pointers.has(event.pointerId) && this.view) {
      this.pinch(event.pointerId, at);
      return;
    }
    if (!this.drag || this.drag.touch) {
      this.hover(this.taskAt(at), event, at);
      return;
    }
    this.drag.moved = this.drag.moved || Math.abs(at.x - this.drag.at.x) > 3;
    if (!this.drag.moved) {
      return;
    }
    this.hover(NONE);
    if (this.drag.selects) {
      this.band = [this.drag.at.x, at.x].sort((a, b) => a - b);
      this.draw();
    } else {
      const {from, until} = this.drag.view;
      const by = (this.drag.at.x - at.x) / this.tracks[0].width * (until - from);
      this.go({from: from + by, until: until + by}, false);
    }
  }

  pinch(id, at) {
    const [other] = Array.from(this.pointers).filter(([key]) => key !== id).map(([, point]) => point);
    const old = this.pointers.get(id);
    const factor = Math.max(Math.abs(old.x - other.x), 10) / Math.max(Math.abs(at.x - other.x), 10);
    const around = this.timeOf(other.x);
    const {from, until} = this.shown;
    this.pointers.set(id, at);
    this.drag = null;
    this.go({from: around - (around - from) * factor, until: around + (until - around) * factor}, false);
  }

  release(event) {
    const drag = this.drag;
    const at = this.point(event);
    this.abandon(event);
    if (!drag) {
      return;
    }
    if (!drag.moved) {
      this.pin(this.taskAt(at));
    } else if (drag.selects) {
      const [left, right] = [drag.at.x, at.x].sort((a, b) => a - b);
      this.go({from: this.timeOf(left), until: this.timeOf(right)});
    }
  }

  abandon(event) {
    this.pointers.delete(event.pointerId);
    this.drag = null;
    this.band = null;
    this.draw();
  }

  /* ---- One task ---- */

  holds(number) {
    const lane = taskOf(number).laneNumber - this.firstLane;
    return lane >= 0 && lane < this.tracks.length;
  }

  /* What a lane's picture tells of a kind, or else of the kind that fills the column at a point: ", simulated: GEMM, 1.20 ms in 31 tasks"; '' where nothing
     runs, or where the kind fills no column. */
  toldAt(point, kind) {
    const number = this.tracks.findIndex((track) => point.y >= track.y && point.y <= track.y + track.height);
    if (number < 0) {
      return '';
    }
    const {y, height, width} = this.tracks[number];
    const below = point.y > y + height / 2;
    const {from, until} = this.whole;
    const x = (this.timeOf(point.x) - from) / (until - from) * width;
    const fits = (css, [left, wide, high]) => high < 0 === below && (kind ? css === kind : x >= left && x < left + wide);
    const path = this.columns[number].find(({css, cells}) => cells.some((cell) => fits(css, cell)));
    return path ? path.told.slice(this.lanes[number].label.length) : '';
  }

  /* With `at`, where the pointer is: of the task there, or what its column tells. */
  hover(number, event, at) {
    this.hovered = number;
    const [from, until] = job().window;
    const known = at && this.timeOf(at.x) >= from && this.timeOf(at.x) < until; /* what is not drawn here was not there */
    const told = at && !(number === NONE && known) ? this.toldAt(at, number === NONE ? '' : taskOf(number).css) : '';
    this.hint.hidden = !at || number === state.pinned && number !== NONE || number === NONE && told === '';
    if (!this.hint.hidden) {
      this.hint.replaceChildren(number === NONE ?
        create('p', 'note', {}, 'Too short to be on this page one by one.') : describe(number));
      if (told !== '') {
        this.hint.append(create('p', 'note', {}, 'On this lane' + told));
      }
      const box = this.hint.getBoundingClientRect();
      const below = event.clientY + 22 + box.height < innerHeight;
      this.hint.style.left = between(event.clientX + 14, 8, Math.max(8, innerWidth - box.width - 8)) + 'px';
      this.hint.style.top = (below ? event.clientY + 22 : Math.max(8, event.clientY - 22 - box.height)) + 'px';
    }
    this.draw();
  }

  /* Show all that is known of a task below the picture, until something else is pinned; NONE: nothing. */
  pin(number) {
    state.pinned = number;
    for (const picture of pictures) {
      picture.panel.hidden = picture !== this || number === NONE;
      picture.draw();
    }
    this.hover(NONE);
    if (number === NONE) {
      this.status.textContent = 'No task is pinned';
      return;
    }
    const task = taskOf(number);
    const follow = (other) => show(other);
    const act = (text, label, keys, press, able) => {
      const made = button('', text, label, press);
      made.setAttribute('aria-keyshortcuts', keys);
      made.disabled = !able;
      return made;
    };
    this.panel.replaceChildren(
      create('div', 'tools', {role: 'toolbar', 'aria-label': 'From this task'},
        act('\u2190', 'The task before it on its lane', 'ArrowLeft', () => this.neighbour(-1), task.place > 0),
        act('\u2192', 'The task after it on its lane', 'ArrowRight', () => this.neighbour(1), task.place + 1 < task.lane.count),
        act('What held it', 'What held it: go there', 'c', () => this.cause(), causeOf(task) >= 0),
        act('Its launch', 'Its launch: go to the call', 'l', () => show(task.call), task.call >= 0),
        act('Closer', 'Closer: the task fills a fifth of the picture', 'z', () => this.close(number), true),
        act('\u00d7', 'Close', 'Escape', () => this.leave(), true)),
      describe(number, follow));
    this.status.textContent = announce(number);
    this.uncover(task);
  }

  /* Scroll until the task stands between the window's top and the panel, and within the picture's frame where that is narrower than the
     picture. */
  uncover(task) {
    const {from, until} = this.goal;
    const middle = between((task.start + task.dur / 2 - from) / (until - from), 0, 1);
    const x = this.canvas.offsetLeft + middle * this.canvas.offsetWidth;
    const frame = this.region.clientWidth;
    if (x < this.region.scrollLeft + 40 || x > this.region.scrollLeft + frame - 40) {
      this.region.scrollLeft = x - frame / 2;
    }
    const track = this.tracks[task.laneNumber - this.firstLane];
    const box = this.canvas.getBoundingClientRect();
    const y = box.top + track.y * box.height / this.height;
    const least = 60;
    const most = Math.max(innerHeight - this.panel.offsetHeight - 60, least);
    if (y < least || y > most) {
      window.scrollBy({top: y < least ? y - least : y - most, behavior: calm() ? 'auto' : 'smooth'});
    }
  }

  leave() {
    this.pin(NONE);
    this.region.focus({preventScroll: true});
  }

  /* Bring a task into view, large enough to be seen. */
  reveal(number) {
    const task = taskOf(number);
    const {from, until} = this.shown;
    const span = until - from;
    const small = task.dur / span * this.tracks[0].width < 4;
    const width = small && task.dur > 0 ? Math.min(span, task.dur * 30) : span;
    if (small || task.start < from || task.start + task.dur > until) {
      const middle = task.start + Math.min(task.dur, width) / 2;
      this.go({from: middle - width / 2, until: middle + width / 2});
    }
  }

  close(number) {
    const task = taskOf(number);
    const around = Math.max(task.dur, LEAST_SPAN) * 2;
    this.go({from: task.start - around, until: task.start + task.dur + around});
  }

  neighbour(step) {
    const task = taskOf(state.pinned);
    const place = task.place + step;
    if (place >= 0 && place < task.lane.count) {
      show(task.lane.first + place);
    }
  }

  /* The task on the next lane that has any, nearest in time. */
  sideways(step) {
    const task = taskOf(state.pinned);
    const lanes = job().lanes;
    for (let i = task.laneNumber + step; i >= this.firstLane && i < this.firstLane + this.tracks.length; i += step) {
      const {start, dur} = lanes[i].times[SIMULATED];
      let best = NONE;
      let nearest = Infinity;
      for (let place = 0; place < lanes[i].count; place++) {
        const distance = Math.max(start[place] - task.start - task.dur, task.start - start[place] - dur[place], 0);
        if (distance < nearest) {
          best = place;
          nearest = distance;
        }
      }
      if (best !== NONE) {
        show(lanes[i].first + best);
        return;
      }
    }
  }

  cause() {
    const cause = causeOf(taskOf(state.pinned));
    if (cause >= 0) {
      show(cause);
    } else {
      this.status.textContent = cause === NOT_EMBEDDED ? 'What held it is not on this page one by one' : 'No task held it';
    }
  }

  /* The task nearest to the middle of what is shown, on the uppermost lane that has one there. */
  pinMiddle() {
    const {from, until} = this.shown;
    const middle = (from + until) / 2;
    for (const lane of this.lanes) {
      const {start, dur} = lane.times[SIMULATED];
      let best = NONE;
      let nearest = (until - from) / 2;
      for (let i = 0; i < lane.count; i++) {
        const distance = Math.max(start[i] - middle, middle - start[i] - dur[i], 0);
        if (distance < nearest) {
          best = i;
          nearest = distance;
        }
      }
      if (best !== NONE) {
        show(lane.first + best);
        return;
      }
    }
    this.status.textContent = 'No task of this page runs here';
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    const pinned = state.pinned !== NONE && this.holds(state.pinned);
    const lane = pinned ? taskOf(state.pinned).lane : null;
    const onButton = event.target.closest('button') !== null;
    const actions = {
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      '0': () => this.go(null),
    };
    if (pinned) {
      Object.assign(actions, {
        ArrowLeft: () => this.neighbour(-1),
        ArrowRight: () => this.neighbour(1),
        ArrowUp: () => this.sideways(-1),
        ArrowDown: () => this.sideways(1),
        Home: () => show(lane.first),
        End: () => show(lane.first + lane.count - 1),
        c: () => this.cause(),
        l: () => taskOf(state.pinned).call >= 0 && show(taskOf(state.pinned).call),
        z: () => this.close(state.pinned),
        Escape: () => this.leave(),
      });
    } else {
      const {from, until} = this.shown;
      const whole = this.whole;
      Object.assign(actions, {Escape: () => this.go(null)}, onButton ? {} : {Enter: () => this.pinMiddle()}, this.view ? {
        ArrowLeft: () => this.pan(-0.2),
        ArrowRight: () => this.pan(0.2),
        Home: () => this.go({from: whole.from, until: whole.from + until - from}),
        End: () => this.go({from: whole.until - until + from, until: whole.until}),
      } : {});
    }
    if (Object.prototype.hasOwnProperty.call(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  /* ---- Drawing ---- */

  draw() {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.paint();
      });
    }
  }

  paint() {
    const box = this.layers.getBoundingClientRect();
    const width = box.width * this.tracks[0].width / this.width;
    if (width === 0) {
      return; /* folded away */
    }
    /* Browsers refuse canvases that are too large. */
    const ratio = Math.min(devicePixelRatio || 1, Math.sqrt(16e6 / (width * box.height)), 16000 / box.height);
    const across = Math.max(1, Math.round(width * ratio));
    const down = Math.max(1, Math.round(box.height * ratio));
    if (this.canvas.width !== across || this.canvas.height !== down) {
      this.canvas.width = across;
      this.canvas.height = down;
    }
    const context = this.canvas.getContext('2d');
    this.layers.classList.toggle('near', this.view !== null);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, across, down);
    context.setTransform(across / this.tracks[0].width, 0, 0, down / this.height, 0, 0);
    if (this.view) {
      this.lanes.forEach((lane, i) => this.paintLane(context, lane, i));
      this.paintSteps(context, this.view.from, this.view.until);
    }
    if (state.chain) {
      this.paintChain(context);
    }
    this.paintAxis();
    this.paintMarks(context);
  }

  paintLane(context, lane, number) {
    const {y, height} = this.tracks[number];
    const base = y + height / 2;
    if (lane.leftOut > 0) {
      this.paintColumns(context, this.columns[number], base);
    }
    const {from, until} = this.shown;
    const scale = this.tracks[0].width / (until - from);
    const {names, kinds} = job();
    for (const timeline of [MEASURED, SIMULATED]) {
      const {start, dur} = lane.times[timeline];
      const top = timeline === MEASURED ? base : base - height / 2;
      context.globalAlpha = timeline === MEASURED ? MEASURED_ALPHA : 1;
      for (let i = 0; i < lane.count; i++) {
        /* What was never measured is NaN, and never drawn. */
        if (start[i] < until && start[i] + dur[i] >= from) {
          const left = Math.max((start[i] - from) * scale, -10);
          const right = Math.min((start[i] + dur[i] - from) * scale, this.tracks[0].width + 10);
          context.fillStyle = fillOf(context, kinds[names[lane.names[i]][0]][0]);
          context.fillRect(left, top, right - left > 8 ? right - left - 0.5 : Math.max(right - left, 0.4), height / 2);
        }
      }
    }
    context.globalAlpha = 1;
  }

  paintChain(context) {
    const {from, until} = this.shown;
    const {chainFrom, chainUntil} = job();
    const scale = this.tracks[0].width / (until - from);
    context.fillStyle = colourOf('ink');
    this.lanes.forEach((lane, number) => {
      const top = this.tracks[number].y - 2.5;
      for (let i = lane.first; i < lane.first + lane.count; i++) {
        if (chainFrom[i] < until && chainUntil[i] >= from) {
          const left = Math.max((chainFrom[i] - from) * scale, -10);
          const right = Math.min((chainUntil[i] - from) * scale, this.tracks[0].width + 10);
          context.fillRect(left, top, Math.max(right - left, 0.7), 2);
        }
      }
    });
  }

  paintColumns(context, paths, base) {
    const whole = this.whole;
    const {from, until} = this.shown;
    const stretch = (whole.until - whole.from) / (until - from);
    const shift = (whole.from - from) / (until - from) * this.tracks[0].width;
    const known = job().window.map((instant) => this.placeOf(instant));
    context.globalAlpha = PALE;
    for (const {css, cells} of paths) {
      context.fillStyle = fillOf(context, css);
      for (const [x, width, height] of cells) {
        const left = Math.max(x * stretch + shift, -10);
        const right = Math.min((x + width) * stretch + shift, this.tracks[0].width + 10);
        /* Not where every task is drawn itself. */
        for (const [begin, end] of [[left, Math.min(right, known[0])], [Math.max(left, known[1]), right]]) {
          if (end > begin) {
            context.fillRect(begin, height > 0 ? base - height : base, end - begin, Math.abs(height));
          }
        }
      }
    }
    context.globalAlpha = 1;
  }

  /* The span being selected, what holds the task, and the task. */
  paintMarks(context) {
    const accent = colourOf('accent');
    if (this.band) {
      context.globalAlpha = 0.18;
      context.fillStyle = accent;
      context.fillRect(this.band[0], this.top - 6, this.band[1] - this.band[0], this.bottom - this.top + 12);
      context.globalAlpha = 1;
    }
    for (const number of new Set([this.hovered, state.pinned])) {
      if (number !== NONE && this.holds(number)) {
        this.paintMark(context, taskOf(number), accent);
      }
    }
  }

  paintMark(context, task, accent) {
    const corner = (one, instant) => {
      const {y, height} = this.tracks[one.laneNumber - this.firstLane];
      return {x: between(this.placeOf(instant), -20, this.tracks[0].width + 20), y: y + height / 4};
    };
    const {y, height} = this.tracks[task.laneNumber - this.firstLane];
    const left = corner(task, task.start).x;
    const right = corner(task, task.start + task.dur).x;
    context.strokeStyle = accent;
    context.lineWidth = 1.5;
    context.strokeRect(left - 1, y - 1, Math.max(right - left, 1) + 2, height + 2);
    const cause = causeOf(task);
    if (cause >= 0 && this.holds(cause)) {
      const other = taskOf(cause);
      const from = corner(other, other.start + other.dur);
      const to = corner(task, task.lane.ends.has(task.place) ? task.start + task.dur : task.start);
      context.beginPath();
      context.moveTo(from.x, from.y);
      context.bezierCurveTo(from.x + 14, from.y, to.x - 14, to.y, to.x, to.y);
      context.stroke();
      context.beginPath();
      context.arc(from.x, from.y, 2.5, 0, 2 * Math.PI);
      context.fillStyle = accent;
      context.fill();
    }
  }

  /* Times above and below the lanes, and the ends of steps. */
  paintAxis() {
    const marks = [];
    if (this.view) {
      const {from, until} = this.view;
      this.putTicks(marks, from, until);
      this.putSteps(marks, from, until);
    }
    this.axis.replaceChildren(...marks);
  }

  mark(name, css, attributes, text) {
    const made = document.createElementNS(this.svg.namespaceURI, name);
    made.setAttribute('class', css);
    for (const key of Object.keys(attributes)) {
      made.setAttribute(key, attributes[key]);
    }
    made.textContent = text || '';
    return made;
  }

  /* 1, 2 or 5 times a power of ten apart, as many as have room for their labels. */
  tickDistance(from, until) {
    let distance = 1;
    for (let i = 0; ; i++) {
      const label = formatTick(Math.trunc(until / distance) * distance, distance);
      const room = Math.min(12, this.tracks[0].width / (label.length * TEXT_WIDTH + 16));
      if ((until - from) / distance <= room) {
        return distance;
      }
      distance *= i % 3 === 1 ? 2.5 : 2;
    }
  }

  putTicks(marks, from, until) {
    const distance = this.tickDistance(from, until);
    const left = this.tracks[0].x;
    let taken = -Infinity;
    for (let tick = Math.ceil(from / distance); tick * distance <= until; tick++) {
      const x = left + this.placeOf(tick * distance);
      const label = formatTick(tick * distance, distance);
      const half = label.length * TEXT_WIDTH / 2;
      const middle = Math.min(x, this.width - half);
      marks.push(this.mark('line', 'rule', {x1: x, x2: x, y1: this.top - 6, y2: this.bottom}));
      if (middle - half > taken) {
        for (const y of [this.top - 10, this.bottom + 14]) {
          marks.push(this.mark('text', 'muted small', {x: middle, y, 'text-anchor': 'middle'}, label));
        }
        taken = middle + half;
      }
    }
  }

  putSteps(marks, from, until) {
    let taken = -Infinity;
    for (const [number, start, end] of job().steps) {
      const x = this.tracks[0].x + this.placeOf(Math.max(start, from)) + 6;
      if (start < until && end > from && x > taken) {
        const label = 'step ' + number;
        marks.push(this.mark('text', 'ink strong', {x, y: this.top - 28}, label));
        taken = x + label.length * TEXT_WIDTH + 6;
      }
    }
  }

  /* Where steps end, over the work. */
  paintSteps(context, from, until) {
    let last = -Infinity;
    context.strokeStyle = colourOf('step');
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    for (const instants of job().steps) {
      for (const instant of instants.slice(1)) {
        const x = this.placeOf(instant);
        if (instant >= from && instant <= until && x - last >= 4) {
          context.moveTo(x, 6);
          context.lineTo(x, this.bottom);
          last = x;
        }
      }
    }
    context.stroke();
    context.setLineDash([]);
  }
}

/* Go to a task wherever it is drawn, and pin it. */
const show = (number) => {
  const picture = pictures.find((one) => one.holds(number));
  const folded = picture.region.closest('details');
  if (folded) {
    folded.open = true;
  }
  picture.reveal(number);
  picture.pin(number);
  if (!picture.panel.contains(document.activeElement)) {
    picture.region.focus({preventScroll: true});
  }
};

const startTimelines = () => {
  if (!document.getElementById('lumos-tasks')) {
    return; /* a template of somebody's own */
  }
  let lanes = 0;
  for (const region of document.querySelectorAll('[data-picture="timeline"]')) {
    const tracks = region.querySelectorAll('rect.track').length;
    if (tracks > 0) {
      pictures.push(new Timeline(region, lanes));
      lanes += tracks;
    }
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    forgetColours();
    pictures.forEach((picture) => picture.draw());
  });
};

/* ---- The graph: larger and smaller, and drawn about with the pointer where it is larger than its frame ---- */

class Sheet {
  constructor(region) {
    this.region = region;
    this.svg = region.querySelector('svg');
    this.natural = this.svg.viewBox.baseVal.width;
    this.height = this.svg.viewBox.baseVal.height;
    this.scale = null; /* null: as wide as the page has it */
    region.before(create('div', 'tools', {role: 'toolbar', 'aria-label': 'Size of the graph'},
      button('', '+', 'Larger', () => this.zoom(1.4)),
      button('', MINUS, 'Smaller', () => this.zoom(1 / 1.4)),
      button('', 'Fit', 'Fit into the window', () => this.fit()),
      button('', 'Reset', 'Reset to its own size', () => this.set(null))));
    region.addEventListener('keydown', (event) => this.key(event));
    region.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.zoom(Math.exp(between(-event.deltaY, -200, 200) * 0.003), event);
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

  set(scale) {
    this.scale = scale;
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

  key(event) {
    const actions = {'+': () => this.zoom(1.4), '=': () => this.zoom(1.4), '-': () => this.zoom(1 / 1.4), '0': () => this.set(null)};
    if (!event.altKey && !event.ctrlKey && !event.metaKey && Object.prototype.hasOwnProperty.call(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  }
}

const startGraph = () => {
  for (const region of document.querySelectorAll('[data-picture="graph"]')) {
    new Sheet(region);
  }
};

/* ---- Tables ---- */

/* Numbers as numbers, names in the order of their letters and numbers; what is unknown comes last. */
const collator = new Intl.Collator('en', {numeric: true});

const compare = (a, b, direction) => {
  if (a === null || b === null) {
    return (a === null) - (b === null);
  }
  return direction * (typeof a === 'number' ? a - b : collator.compare(a, b));
};

class Table {
  constructor(table) {
    this.name = table.getAttribute('aria-labelledby').replace('table-', '');
    this.headings = Array.from(table.tHead.rows[0].cells);
    this.body = table.tBodies[0];
    this.rows = Array.from(this.body.rows);
    this.headings.forEach((heading, column) => {
      const label = 'Sort by ' + heading.textContent.trim().replace(/\s+/g, ' ');
      heading.append(' ', button('sort', '', label, () => this.press(column)));
    });
  }

  /* What a cell holds, from the embedded numbers; of a kind with a colour, what it is called. */
  value(row, column) {
    const cell = this.rows[row].cells[column];
    return cell.classList.contains('swatch') ? cell.textContent : summary().tables[this.name].rows[row][column];
  }

  /* A row that continues the one above it moves with it. */
  get groups() {
    const groups = [];
    this.rows.forEach((row, i) => {
      if (row.classList.contains('again')) {
        groups[groups.length - 1].push(i);
      } else {
        groups.push([i]);
      }
    });
    return groups;
  }

  /* Numbers begin with the largest, names with the first; a second time turns the order round, a third brings the page's own back. */
  press(column) {
    const heading = this.headings[column];
    const numeric = this.rows.some((_, row) => typeof this.value(row, column) === 'number');
    const first = numeric ? 'descending' : 'ascending';
    const second = numeric ? 'ascending' : 'descending';
    const old = heading.getAttribute('aria-sort');
    const order = old === first ? second : old === second ? null : first;
    for (const other of this.headings) {
      other.removeAttribute('aria-sort');
    }
    const groups = this.groups;
    if (order) {
      heading.setAttribute('aria-sort', order);
      groups.sort((a, b) => compare(this.value(a[0], column), this.value(b[0], column), order === 'ascending' ? 1 : -1));
    }
    this.body.append(...groups.flat().map((row) => this.rows[row]));
  }
}

const startTables = () => {
  if (!document.getElementById('lumos-summary')) {
    return;
  }
  for (const table of document.querySelectorAll('table[aria-labelledby^="table-"]')) {
    if (table.tBodies[0].rows.length > 1) {
      new Table(table);
    }
  }
};

/* ---- Paper: what is folded is printed too ---- */

const startPrinting = () => {
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = Array.from(document.querySelectorAll('details:not([open])'));
    opened.forEach((details) => details.setAttribute('open', ''));
  });
  addEventListener('afterprint', () => opened.forEach((details) => details.removeAttribute('open')));
};

startTimelines();
startGraph();
startTables();
startPrinting();
})();
