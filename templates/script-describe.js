/* What is told of a task, in the hint at the pointer, in the panel of the pinned one, and to readers who listen. */

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

/* Nanoseconds are kept: start and duration in microseconds with three decimals. */
const exact = (value) => (Number.isNaN(value) ? '\u2013' : formatFixed(value, 1e3, 3));

/* Both timelines, also where the picture has room for one; of several jobs the one that is there. */
const timesTable = (task) => {
  const {only} = job();
  const rows = [
    ['start', task.start, task.measuredStart],
    ['duration', task.dur, task.measuredDur],
    ['end', task.start + task.dur, task.measuredStart + task.measuredDur],
  ];
  const heading = (scope, text) => create('th', '', {scope}, text);
  const head = create('tr', '', {}, ...['\u00b5s', ...(only ? [only] : ['simulated', 'measured'])].map((text) => heading('col', text)));
  const body = rows.map(([name, ...values]) =>
    create('tr', name, {}, heading('row', name), ...values.slice(0, only ? 1 : 2).map((value) => create('td', '', {}, exact(value)))));
  return create('table', '', {}, create('thead', '', {}, head), create('tbody', '', {}, ...body));
};

/* "all of it, in step 3" */
const routeSentence = (task) => {
  const found = routeThrough(task);
  if (job().routes.length === 0) {
    return null;
  }
  return found === null ? 'not on it' : (found.time === task.dur ? 'all' : formatTime(found.time)) + ' of it, in step ' + found.step;
};

/* "backward, micro-batch 3, layer 12" */
const passSentence = ({phase, microBatch, layer}) => {
  const parts = [
    phase > 0 && job().phases[phase] !== 'other' ? job().phases[phase] : '',
    microBatch >= 0 ? 'micro-batch ' + formatCount(microBatch) : '',
    layer >= 0 ? 'layer ' + formatCount(layer) : '',
  ];
  return parts.filter(Boolean).join(', ');
};

/* Bytes as people read them. */
const formatBytes = (value) => {
  const units = [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]];
  const [name, one] = units.find(([, least]) => value >= least) || ['bytes', 1];
  return one === 1 ? formatCount(value) + SPACE + name : formatFixed(value, one, 2) + SPACE + name + ' (' + formatCount(value) + ')';
};

/* Since when a task could have run, or ended: [instant, why]; null: it did not wait, or that is not known. */
const waitsSince = (task) => {
  const {lane, place, call, start} = task;
  const hold = lane.holds[place];
  if (lane.ends.has(place)) {
    return [start, 'its start'];
  }
  if (hold === null || job().holds[hold][0] === 'launch') {
    return null;
  }
  if (call >= 0) {
    const {start: begin, dur} = taskOf(call);
    return [begin + dur, 'its launch'];
  }
  if (!lane.isStream && lane.leftOut === 0 && place > 0 && job().holds[hold][0] !== 'thread order') {
    const {start: begin, dur} = lane.times[SIMULATED];
    return [begin[place - 1] + dur[place - 1], 'the task before it ended'];
  }
  return null;
};

/* "1.20 ms, since its launch at 12.3 ms" */
const waitSentence = (task) => {
  const since = waitsSince(task);
  const until = task.lane.ends.has(task.place) ? task.start + task.dur : task.start;
  if (since === null || until <= since[0]) {
    return null;
  }
  const [instant, why] = since;
  const waited = until - instant;
  return formatTime(waited) + ', since ' + why + (why === 'its start' ? '' : ' at ' + formatMoment(instant, waited));
};

/* What it is, what held it and since when, what launched it: terms and what is known of them. */
const known = (task, follow) => {
  const list = create('dl', '', {});
  const row = (term, value) => value !== null && list.append(create('dt', '', {}, term), create('dd', '', {}, value));
  const hold = task.lane.holds[task.place];
  const end = task.lane.ends.get(task.place);
  const [first] = job().steps;
  row('op', task.op || null);
  row('module', task.module || null);
  row('part of', passSentence(task) || null);
  row('shapes', task.shapes || null);
  row('bytes', task.bytes === undefined ? null : formatBytes(task.bytes));
  if (hold !== null) {
    row('start held by', holdSentence(task.start, task.lane.held[task.place], hold, follow));
  }
  if (end) {
    row('end held by', holdSentence(task.start + task.dur, end.source, end.hold, follow));
  }
  row('waited', waitSentence(task));
  if (task.call !== NONE) {
    row('launched by', task.call === NOT_EMBEDDED ? 'a call that is not on this page one by one' : nameOf(task.call, follow));
  }
  row('critical path', routeSentence(task));
  row('times', first ? 'count from the start of step ' + first[0] : null);
  return list;
};

/* `follow` is called with the number of a task that a link leads to; without it there are no links. */
const describe = (number, follow) => {
  const task = taskOf(number);
  return [
    create('p', 'name', {}, task.name),
    create('p', 'where swatch ' + task.css, {}, task.kindLabel + ', ' + task.lane.label + ', task ' + task.id),
    create('div', 'known', {}, timesTable(task), known(task, follow)),
  ];
};

/* The same in a sentence. */
const announce = (number) => {
  const task = taskOf(number);
  return task.name + ', ' + task.kindLabel + ', ' + task.lane.label + ', starts at ' + formatMoment(task.start, task.dur) +
    ', takes ' + formatTime(task.dur);
};
