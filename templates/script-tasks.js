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
    rank: packed.rank,
    label: 'rank ' + packed.rank + ', ' + packed.lane,
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
  };
};

const laneOf = (lanes, number) => lanes.find(({first, count}) => number < first + count);

/* Where the chain runs through each task: from and until, by number; NaN where it does not. */
const unpackChain = (packed, lanes, count) => {
  const from = new Float64Array(count).fill(NaN);
  const until = new Float64Array(count).fill(NaN);
  const parts = new Map(packed.parts.map(([place, begin, end]) => [place, [begin, end]]));
  sums(packed.tasks, packed.tasks.length).forEach((number, place) => {
    const lane = laneOf(lanes, number);
    const {start, dur} = lane.times[SIMULATED];
    const at = number - lane.first;
    [from[number], until[number]] = parts.get(place) || [start[at], start[at] + dur[at]];
  });
  return {step: packed.step, from, until};
};

const job = once(() => {
  const packed = embedded('lumos-tasks');
  let count = 0;
  const lanes = packed.lanes.map((lane, number) => {
    const made = unpackLane(lane, number, count);
    count += made.count;
    return made;
  });
  return {
    ...packed,
    lanes,
    chain: unpackChain(packed.chain || {step: null, tasks: [], parts: []}, lanes, count),
    window: packed.window || [Infinity, Infinity], /* where every task is embedded */
  };
});

/* All that texts and pictures need to know of one task. */
const taskOf = (number) => {
  const {lanes, names, kinds} = job();
  const lane = laneOf(lanes, number);
  const place = number - lane.first;
  const [kind, name] = names[lane.names[place]];
  const [css, kindLabel] = kinds[kind];
  return {
    number,
    lane,
    place,
    name,
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

/* What held a task's end where that was not its duration, else its start: the next link of the chain back in time. */
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
