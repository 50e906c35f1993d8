/* The tasks that the page embeds (lumos-tasks; src/report/content/packed.c says how), unpacked when they are first needed.

   A task is known by its number: tasks are counted lane by lane, in the order of the pictures. A lane keeps its tasks as columns, by their
   place on it, in order of start. Times are nanoseconds, counted as the axis counts. */

const NONE = -1;
const NOT_EMBEDDED = -2; /* there is one, but it is not on the page one by one */

const MEASURED = 0;
const SIMULATED = 1;

/* The running sums of a column of differences: null stays NONE, false NOT_EMBEDDED. */
const sums = (column, count) => {
  const values = new Float64Array(count).fill(NONE);
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

/* What was measured, from its differences to what was simulated; NaN: never measured. */
const measured = (simulated, differences) =>
  differences ? simulated.map((value, i) => (differences[i] === null ? NaN : value + differences[i])) : simulated;

const unpackLane = (packed, number, first) => {
  const count = packed.start.length;
  const start = sums(packed.start, count);
  const dur = Float64Array.from(packed.dur);
  const ends = new Map(); /* by place: what else than its duration held a task's end */
  for (const [place, source, hold] of packed.ends || []) {
    ends.set(place, {source: source === null ? NONE : source === false ? NOT_EMBEDDED : source, hold});
  }
  return {
    number,
    rank: (packed.job || '') + packed.rank, /* "0"; of several jobs "A0" */
    rankLabel: packed.job || 'rank ' + packed.rank, /* beside its lanes */
    rankName: (packed.job ? packed.job + ', ' : '') + 'rank ' + packed.rank,
    label: (packed.job ? packed.job + ', ' : '') + 'rank ' + packed.rank + ', ' + packed.lane,
    until: packed.until === undefined ? Infinity : packed.until, /* of several jobs: where its own picture ends */
    isStream: / ?stream /.test(packed.lane),
    leftOut: packed.left_out,
    first, /* the number of its first task */
    count,
    times: [{start: measured(start, packed.measured_start), dur: measured(dur, packed.measured_dur)}, {start, dur}],
    names: packed.name,
    ids: sums(packed.task, count),
    calls: sums(packed.call, count),
    held: sums(packed.held, count),
    holds: packed.hold || new Array(count).fill(null),
    ends,
    waits: packed.waits || [], /* [place, kind of doubt, from, until] */
    passes: packed.passes || [], /* [place, phase, micro-batch, layer] from that place on */
    bytes: new Map(packed.bytes || []), /* by place */
    early: packed.early || [], /* columns before the first step: as simulated, as measured */
    legs: [], /* {step, from, until} of critical paths on it */
  };
};

const laneOf = (lanes, number) => lanes.find(({first, count}) => number < first + count);

/* A critical path: leg by leg its lane (NONE: not drawn, or outside of the recording), where it ends, and what led to it. */
const unpackRoute = ([step, start, lanes, durations, holds]) => {
  const ends = new Float64Array(durations.length);
  let end = start;
  durations.forEach((duration, i) => (ends[i] = end += duration));
  return {step, start, end, lanes, ends, holds};
};

/* Legs by lane, so that what a task has of them is found. */
const spreadLegs = (routes, lanes) => {
  for (const {step, start, lanes: places, ends} of routes) {
    places.forEach((place, i) => {
      if (place >= 0) {
        lanes[place].legs.push({step, from: i === 0 ? start : ends[i - 1], until: ends[i]});
      }
    });
  }
};

const job = once(() => {
  const packed = embedded('lumos-tasks');
  let count = 0;
  const lanes = packed.lanes.map((lane, number) => {
    const made = unpackLane(lane, number, count);
    count += made.count;
    return made;
  });
  const routes = packed.routes.map(unpackRoute);
  spreadLegs(routes, lanes);
  return {
    ...packed,
    lanes,
    routes,
    window: packed.window || [Infinity, Infinity], /* where every task is embedded */
    begin: packed.begin === undefined ? packed.from : packed.begin,
  };
});

/* The first place of a sorted list whose value, told by `of`, is above a limit; the list's length: none is. */
const firstAbove = (list, limit, of) => {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) > limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
};

const textAt = (number) => (number === undefined || number < 0 ? '' : job().texts[number]);

/* All that texts and pictures need to know of one task. */
const taskOf = (number) => {
  const {lanes, names, kinds} = job();
  const lane = laneOf(lanes, number);
  const place = number - lane.first;
  const [kind, name, op, module, shapes] = names[lane.names[place]];
  const [css, kindLabel] = kinds[kind];
  const [, phase, microBatch, layer] = lane.passes[firstAbove(lane.passes, place, ([from]) => from) - 1] || [0, NONE, NONE, NONE];
  return {
    number,
    lane,
    place,
    name: textAt(name),
    op: textAt(op),
    module: textAt(module),
    shapes: textAt(shapes),
    phase,
    microBatch,
    layer,
    bytes: lane.bytes.get(place),
    css,
    kindLabel,
    id: lane.rank + ':' + lane.ids[place],
    start: lane.times[SIMULATED].start[place],
    dur: lane.times[SIMULATED].dur[place],
    measuredStart: lane.times[MEASURED].start[place],
    measuredDur: lane.times[MEASURED].dur[place],
    call: lane.calls[place],
  };
};

/* What held a task's end where that was not its duration, else its start: the next link of the critical path back in time. */
const causeOf = (task) => {
  const end = task.lane.ends.get(task.place);
  return end && end.source >= 0 ? end.source : task.lane.held[task.place];
};

/* The task of a lane that is nearest to a span of time, the longest of several; NONE where none is nearer than `reach`. */
const nearestTask = (lane, timeline, from, until, reach) => {
  const {start, dur} = lane.times[timeline];
  let best = NONE;
  let nearest = reach;
  for (let i = 0; i < lane.count; i++) {
    const distance = Math.max(start[i] - until, from - start[i] - dur[i], 0);
    if (distance < nearest || (distance === nearest && best !== NONE && dur[i] > dur[best])) {
      best = i;
      nearest = distance;
    }
  }
  return best === NONE ? NONE : lane.first + best;
};

/* The number of the task with an id such as "1:6835"; NONE: it is not on the page one by one. */
const taskNamed = (id) => {
  for (const lane of job().lanes) {
    const [rank, number] = id.split(':');
    const place = lane.rank === rank ? lane.ids.indexOf(Number(number)) : NONE;
    if (place !== NONE) {
      return lane.first + place;
    }
  }
  return NONE;
};

/* What a task has of critical paths: {step, time} of the first that passes it; null: none does. */
const routeThrough = ({lane, start, dur}) => {
  const first = firstAbove(lane.legs, start, ({until}) => until);
  let found = null;
  for (let i = first; i < lane.legs.length && lane.legs[i].from < start + dur; i++) {
    const {step, from, until} = lane.legs[i];
    found = found || {step, time: 0};
    found.time += Math.min(until, start + dur) - Math.max(from, start);
  }
  return found;
};
