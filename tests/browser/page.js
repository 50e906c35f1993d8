/* What a reader does with a page, done in Chromium, against what jq says of the stream that it was made from.
   `node page.js check`: example.html and hand.html; `large`: large.html; `bench NAME`: figures of a page; `short NAME...`: how long pages are. Run by
   the scripts beside it. */
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const {axe, faults, open: openFile, close, launch, run, end} = require('./checks.js');

const markup = (name) => fs.readFileSync(name + '.html', 'utf8');
const records = (file) => fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const tasksOf = (name) => records(name + '.tasks');

/* Numbers as a reader expects them, made by other means than the page's. */
const microseconds = (nanoseconds) =>
  (nanoseconds / 1000).toLocaleString('en-US', {minimumFractionDigits: 3, maximumFractionDigits: 3}).replace('-', '\u2212');

const open = (name, options, hash) => openFile(name + '.html', options, hash);

const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const region = (page, number = 0) => page.locator('[data-picture="timeline"]').nth(number);
const panel = (page) => page.locator('[aria-label="The pinned task"]:visible');
const press = async (page, key) => {
  await page.keyboard.press(key);
  await settled(page);
};
const statusOf = (page, number = 0) => page.locator('[role="status"]').nth(number).textContent();

/* What the panel or the hint says, as a reader sees it. */
async function told(locator) {
  const cells = (row) => locator.locator('tr.' + row + ' td').allTextContents();
  return {
    name: await locator.locator('.name').textContent(),
    where: await locator.locator('.where').textContent(),
    start: await cells('start'),
    duration: await cells('duration'),
    known: await locator.locator('dl').textContent(),
  };
}

/* The page says of a task what the stream says. */
async function agrees(locator, task, origin) {
  const says = await told(locator);
  const value = (time) => (time === null || time === undefined ? '\u2013' : microseconds(time));
  const measured = task.start === null || task.start === undefined ? null : task.start - origin;
  assert.equal(says.name, task.name);
  assert.match(says.where, new RegExp('rank ' + task.rank + ', .*task ' + task.id + '$'));
  assert.deepEqual(says.start, [value(task.sim_start - origin), value(measured)]);
  assert.deepEqual(says.duration, [value(task.sim_dur), value(task.dur)]);
  return says;
}

/* Where a task is drawn, in the window, from the picture's own geometry. */
async function spotOf(page, task, origin) {
  return page.evaluate(({task, origin}) => {
    const data = JSON.parse(document.getElementById('lumos-tasks').textContent);
    const wanted = (task.lane.startsWith('s') ? 'stream ' : 'thread ') + task.lane.slice(1);
    const number = data.lanes.findIndex((lane) => lane.rank === task.rank && (lane.lane + ')').includes(wanted + ')'));
    const track = document.querySelectorAll('rect.track')[number];
    track.scrollIntoView({block: 'center'});
    const box = track.getBoundingClientRect();
    const across = track.width.baseVal.value / data.pixels * data.column;
    const middle = task.sim_start + task.sim_dur / 2 - origin - data.from;
    return {x: box.left + middle / across * box.width, y: box.top + box.height / 4, width: box.width};
  }, {task, origin});
}

const originOf = (page) => page.evaluate(() => JSON.parse(document.getElementById('lumos-tasks').textContent).origin);

/* How much the picture shows, in ns: read from its own words "12.00 ms to 13.00 ms, 1.00 ms across". */
async function across(page) {
  const text = await page.locator('.tools .span').first().textContent();
  const match = /([\d,.]+)\u00a0(ns|\u00b5s|ms|s) across$/.exec(text);
  return match ? Number(match[1].replace(/,/g, '')) * {ns: 1, '\u00b5s': 1e3, ms: 1e6, s: 1e9}[match[2]] : Infinity;
}

/* What the canvas shows from a point of the window on downwards: [[red, green, blue, alpha]]. */
const pixels = (page, x, y, count) => page.evaluate(({x, y, count}) => {
  const canvas = document.querySelector('.layers canvas');
  const box = canvas.getBoundingClientRect();
  const copy = new OffscreenCanvas(1, count).getContext('2d');
  copy.drawImage(canvas, -Math.round((x - box.left) * canvas.width / box.width), -Math.round((y - box.top) * canvas.height / box.height));
  const {data} = copy.getImageData(0, 0, 1, count);
  return Array.from({length: count}, (_, i) => Array.from(data.slice(4 * i, 4 * i + 4)));
}, {x, y, count});

/* The red, green and blue of one of the page's colours. */
async function colourOf(page, css) {
  const hex = await page.evaluate((name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(), css);
  return [1, 3, 5].map((digit) => parseInt(hex.slice(digit, digit + 2), 16));
}

/* Where an instant stands in the window, read off the labels of a zoomed axis. */
const placeOf = (page, time) => page.evaluate((time) => {
  const units = {ns: 1, '\u00b5s': 1e3, ms: 1e6, s: 1e9};
  const [first, , second] = Array.from(document.querySelectorAll('.axis text.muted'), (text) => {
    const [number, unit] = text.textContent.replace('\u2212', '-').replace(/,/g, '').split('\u00a0');
    return {time: Number(number) * (unit ? units[unit] : 1), x: Number(text.getAttribute('x'))};
  });
  const axis = document.querySelector('.axis');
  const box = axis.getBoundingClientRect();
  const x = first.x + (time - first.time) / (second.time - first.time) * (second.x - first.x);
  return box.left + x * box.width / axis.viewBox.baseVal.width;
}, time);

/* Zoom to a task by the wheel, and pin it. Returns where it stands now. At first it may be a hundredth of a pixel wide. */
async function reach(page, task, origin) {
  await page.getByRole('button', {name: 'Fit all'}).first().click();
  const spot = await spotOf(page, task, origin);
  const middle = task.sim_start + task.sim_dur / 2 - origin;
  await page.keyboard.down('Control');
  for (let i = 0; i < 80 && await across(page) > 3 * task.sim_dur; i++) {
    await page.mouse.move(Math.floor(spot.x), spot.y);
    await page.mouse.wheel(0, -200);
    await settled(page);
    spot.x = await placeOf(page, middle);
  }
  await page.keyboard.up('Control');
  await page.mouse.click(spot.x, spot.y);
  await settled(page);
  return spot;
}

/* ---- The checks ---- */

const checks = {};
const rare = {}; /* with LUMOS_ALL=yes: what is like another check, or rarely used */
const every = process.env.LUMOS_ALL === 'yes';

/* By wheel to a kernel that is a fraction of a pixel wide at first; the page itself must scroll by a plain wheel. */
checks['the wheel reaches a single kernel'] = async () => {
  const page = await open('example');
  const origin = await originOf(page);
  const kernels = tasksOf('example').filter((task) => task.kind === 'gemm' && task.rank === 0);
  const task = kernels[Math.floor(kernels.length / 2)];
  const spot = await spotOf(page, task, origin);
  await page.mouse.move(spot.x, spot.y);
  const scrolled = await page.evaluate(() => scrollY);
  await page.mouse.wheel(0, 60);
  await page.waitForFunction((before) => scrollY > before, scrolled);
  assert.equal(await across(page), Infinity);
  await page.mouse.wheel(0, -60);
  await page.waitForFunction((before) => scrollY === before, scrolled);
  await page.keyboard.down('Control');
  for (let i = 0; i < 60 && await across(page) > 3 * task.sim_dur; i++) {
    await page.mouse.wheel(0, -200);
    await settled(page);
  }
  await page.keyboard.up('Control');
  assert.ok(await across(page) <= 3 * task.sim_dur, 'the wheel does not reach it');
  await page.mouse.move(spot.x + 1, spot.y);
  await settled(page);
  await agrees(page.locator('.hint').first(), task, origin);
  assert.ok(await page.locator('.hint').first().isVisible());
  assert.match(await page.locator('.hint').first().textContent(), /On this lane: GEMM, .* in [\d,]+\u00a0tasks$/);

  /* It is painted in its kind's colour there. */
  const [pixel] = await pixels(page, spot.x, spot.y - 3, 1); /* above its name */
  assert.deepEqual(pixel, [...await colourOf(page, task.kind), 255]);

  await page.mouse.click(spot.x, spot.y);
  await settled(page);
  await agrees(panel(page), task, origin);
  assert.equal(await panel(page).count(), 1);
  await press(page, 'Escape');
  assert.equal(await panel(page).count(), 0);
};

rare['buttons and dragging zoom, pan and go back'] = async () => {
  const page = await open('example');
  const origin = await originOf(page);
  const tasks = tasksOf('example').filter((one) => one.kind === 'collective');
  const task = tasks.reduce((best, one) => (one.sim_dur > best.sim_dur ? one : best));
  const spot = await spotOf(page, task, origin);
  const zoom = (name) => page.getByRole('button', {name, exact: true}).first().click();

  /* Drag a span around it, then pin it: buttons zoom around what is pinned. */
  await page.mouse.move(spot.x - 40, spot.y);
  await page.mouse.down();
  await page.mouse.move(spot.x + 40, spot.y, {steps: 4});
  await page.mouse.up();
  await settled(page);
  const first = await across(page);
  assert.ok(first < Infinity);
  spot.x = await placeOf(page, task.sim_start + task.sim_dur / 2 - origin); // what was dragged over now fills the width
  await page.mouse.click(spot.x, spot.y);
  await settled(page);
  await agrees(panel(page), task, origin);
  for (let i = 0; i < 40 && await across(page) > 2 * task.sim_dur; i++) {
    await zoom('Zoom in');
    await settled(page);
  }
  assert.ok(await across(page) <= 2 * task.sim_dur);
  await agrees(panel(page), task, origin);

  /* Dragging pans: what was shown at the left now stands further right. */
  const shown = () => page.locator('.tools .span').first().textContent();
  const before = await shown();
  const wide = await across(page);
  await page.mouse.move(spot.x, spot.y);
  await page.mouse.down();
  await page.mouse.move(spot.x + 100, spot.y, {steps: 4});
  await page.mouse.up();
  await settled(page);
  assert.notEqual(await shown(), before);
  assert.equal(await across(page), wide);
  await zoom('Zoom out');
  await settled(page);
  assert.ok(Math.abs(await across(page) / wide - 2) < 0.02);
  await zoom('Fit all');
  await settled(page);
  assert.equal(await shown(), '');
  assert.equal(await page.locator('.layers.near').count(), 0);
};

rare['zooming glides where motion is welcome'] = async () => {
  const page = await open('example', {reducedMotion: 'no-preference'});
  const zoom = () => page.getByRole('button', {name: 'Zoom in'}).first().click();
  await zoom();
  await page.waitForFunction(() => document.querySelector('.tools .span').textContent !== '');
  const once = await across(page);
  await zoom();
  await zoom(); /* from where the glide leads, not from where it is */
  const wanted = async () => Math.abs(once / await across(page) - 4) < 0.05;
  for (let i = 0; i < 200 && !await wanted(); i++) {
    await settled(page);
  }
  assert.ok(await wanted());
};

checks['keys zoom, walk along a lane and back along the chain'] = async () => {
  const page = await open('hand');
  const origin = await originOf(page);
  const tasks = tasksOf('hand');
  const named = (name) => tasks.find((task) => task.name === name);
  const calls = tasks.filter((task) => task.name === 'cudaLaunchKernel');
  assert.equal(origin, calls[0].sim_start); /* one rank, one step, which begins with the first call */
  await region(page).focus();
  await press(page, '+');
  const once = await across(page);
  await press(page, '+');
  assert.ok(Math.abs(once / await across(page) - 2) < 0.02);
  await press(page, '-');
  assert.ok(Math.abs(await across(page) / once - 1) < 0.02);
  await press(page, 'ArrowRight');
  await press(page, 'End');
  assert.ok(Math.abs(await across(page) / once - 1) < 0.02);
  await press(page, '0');
  assert.equal(await across(page), Infinity);

  /* The kernel behind the other one: stream order, launch, thread order. */
  const spot = await spotOf(page, named('sgemm b</script>'), origin);
  await page.mouse.move(spot.x, spot.y);
  await page.keyboard.down('Control');
  for (let i = 0; i < 80 && await across(page) > 1e5; i++) {
    await page.mouse.wheel(0, -200);
    await settled(page);
  }
  await page.keyboard.up('Control');
  const b = await spotOf(page, named('sgemm b</script>'), origin);
  assert.ok(b);
  await region(page).focus();
  await press(page, 'Enter');
  for (let i = 0; i < 60 && !(await panel(page).locator('.where').textContent()).includes('(stream 7),'); i++) {
    await press(page, 'ArrowDown');
  }
  await press(page, 'End');
  let says = await agrees(panel(page), named('sgemm b</script>'), origin);
  assert.match(says.known, /start held by *stream order: 1.00\u00a0\u00b5s after the end of sgemm a<1> on rank 0, compute \(stream 7\) \(recorded\)/);
  await press(page, 'ArrowLeft');
  await agrees(panel(page), named('sgemm a<1>'), origin);
  await press(page, 'ArrowRight');
  await agrees(panel(page), named('sgemm b</script>'), origin);
  await press(page, 'l');
  await agrees(panel(page), calls[1], origin);
  await press(page, 'ArrowLeft');
  await agrees(panel(page), calls[0], origin);
  await press(page, 'ArrowDown');
  await press(page, 'End');
  await press(page, 'c');
  says = await agrees(panel(page), named('sgemm a<1>'), origin);
  assert.match(says.known, /start held by *launch: 8.00\u00a0\u00b5s after the end of cudaLaunchKernel/);
  assert.match(await statusOf(page), /^sgemm a<1>, GEMM, rank 0, compute \(stream 7\), starts at 10.0\u00a0\u00b5s, takes 20.0\u00a0\u00b5s$/);
  await panel(page).getByRole('button', {name: 'Go to blocker'}).click();
  await settled(page);
  await agrees(panel(page), calls[0], origin);
  await press(page, 'z');
  assert.equal(await across(page), 5 * calls[0].sim_dur);
  await press(page, 'Escape');
  assert.equal(await panel(page).count(), 0);
};

/* A collective ends when its last member has arrived: from one that waits, the chain leads to that one, on the other rank. */
rare['the chain leads from one rank to another'] = async () => {
  const page = await open('example');
  const origin = await originOf(page);
  const byId = new Map(tasksOf('example').map((task) => [task.id, task]));
  const waits = ({members: [a, b]}) => Math.abs(byId.get(a).sim_start - byId.get(b).sim_start);
  const {members} = records('example.collectives').reduce((best, one) => (waits(one) > waits(best) ? one : best));
  const [early, late] = members.map((id) => byId.get(id)).sort((a, b) => a.sim_start - b.sim_start);
  assert.notEqual(early.rank, late.rank);
  await reach(page, early, origin);
  const says = await agrees(panel(page), early, origin);
  assert.ok(says.known.includes('end held by'), says.known);
  await region(page).focus();
  await press(page, 'c');
  await agrees(panel(page), late, origin);
};

/* The page has marks for doubtful waits, and shows them, drawn and painted, when the reader wants them. */
rare['doubtful waits are marked when asked for'] = async () => {
  const page = await open('example');
  const marks = page.locator('[data-picture="timeline"] g.marks').filter({has: page.locator('path')}).first(); /* not every lane has some */
  const box = page.getByRole('checkbox', {name: 'Mark waits of unknown cause'});
  const legend = page.locator('ul.kinds.marks');
  assert.equal(await box.isChecked(), false);
  assert.equal(await marks.isVisible(), false);
  assert.equal(await legend.isVisible(), false);
  await box.focus();
  await page.keyboard.press('Space');
  assert.equal(await marks.isVisible(), true);
  assert.equal(await legend.isVisible(), true);
  assert.match(await marks.textContent(), /rank 0, [^(]*\(stream \d+\): (unexplained delay|waiting .*), .* before \d+\stasks?/);
  await page.getByRole('button', {name: 'Zoom in'}).first().click();
  await settled(page);
  assert.equal(await marks.isVisible(), false); /* the canvas has them now */
  const painted = () => page.locator('[data-picture="timeline"] canvas').first().evaluate((canvas) => canvas.toDataURL());
  const withMarks = await painted();
  await box.uncheck();
  await settled(page);
  const without = await painted();
  assert.ok(withMarks !== without, 'the canvas has no marks');
  await box.check();
  await settled(page);
  assert.ok(await painted() === withMarks);
};

/* The longest kernel ends the step, so the critical path ends with it: a line above its lane, from its start to its end, on the page's own
   drawing, on the canvas, whole and zoomed; a box switches it off. */
checks['the critical path is drawn in true time, and can be switched off'] = async () => {
  const page = await open('hand');
  const origin = await originOf(page);
  const task = tasksOf('hand').find((one) => one.name === 'sgemm 59999999999');
  const other = tasksOf('hand').find((one) => one.name === 'sgemm 1234567890');
  const red = await colourOf(page, 'route');
  const isRed = (list) => list.some(([r, g, b, alpha]) => alpha > 180 && [r, g, b].every((part, i) => Math.abs(part - red[i]) < 8));
  const drawn = async (one) => {
    const spot = await spotOf(page, one, origin);
    return isRed(await pixels(page, spot.x, spot.y - 10, 5));
  };
  await settled(page);
  assert.equal(await drawn(task), true);
  assert.equal(await drawn(other), false);
  await reach(page, task, origin);
  assert.match((await told(panel(page))).known, /critical path *all of it, in step 0/);
  assert.equal(isRed(await pixels(page, await placeOf(page, task.sim_start + task.sim_dur * 0.4 - origin), (await spotOf(page, task, origin)).y - 10, 5)), true);
  assert.equal(isRed(await pixels(page, await placeOf(page, task.sim_start + task.sim_dur * 1.1 - origin), (await spotOf(page, task, origin)).y - 10, 5)), false);
  await reach(page, other, origin);
  assert.match((await told(panel(page))).known, /critical path *not on it/);
  await page.getByRole('button', {name: 'Fit all'}).first().click();
  await page.getByRole('checkbox', {name: 'Critical path'}).uncheck();
  await settled(page);
  assert.equal(await drawn(task), false);

  /* Without scripts the page's own drawing has it: the last of its points lies above that lane, and the box hides it. */
  const still = await open('hand', {javaScriptEnabled: false});
  const line = still.locator('g.routes polyline');
  const display = () => line.evaluate((one) => getComputedStyle(one.parentNode).display); /* a level line has no height, to be visible by */
  assert.equal(await line.count(), 1);
  assert.equal(await display(), 'inline');
  const tops = await still.locator('rect.track').evaluateAll((tracks) => tracks.map((track) => Number(track.getAttribute('y'))));
  const numbers = (await line.getAttribute('points')).split(' ').map(Number);
  assert.ok(tops.includes(numbers[numbers.length - 1] + 3.5));
  await still.getByRole('checkbox', {name: 'Critical path'}).uncheck();
  assert.equal(await display(), 'none');
};

/* Pointing at an arrow of the path tells which lanes it leads from and to, why, and when. The page's own drawing says where arrows are:
   where its line goes straight up or down. */
rare['an arrow of the critical path tells what it stands for'] = async () => {
  const page = await open('example');
  await settled(page);
  const spots = await page.evaluate(() => {
    const svg = document.querySelector('[data-picture="timeline"] svg');
    svg.scrollIntoView({block: 'center'});
    const {left, top, width} = svg.getBoundingClientRect();
    const scale = width / svg.viewBox.baseVal.width;
    return Array.from(svg.querySelectorAll('g.routes polyline')).flatMap((line) => {
      const numbers = line.getAttribute('points').trim().split(/[ ,]+/).map(Number);
      const points = numbers.filter((one, i) => i % 2 === 0).map((x, i) => [x, numbers[2 * i + 1]]);
      return points.flatMap(([x, y], i) => (i > 0 && points[i - 1][0] === x && Math.abs(points[i - 1][1] - y) > 20
        ? [{x: left + x * scale, y: top + (points[i - 1][1] + y) / 2 * scale}] : []));
    }).slice(0, 60);
  });
  const hint = page.locator('.hint').first();
  const tells = async ({x, y}) => {
    await page.mouse.move(x, y);
    return await hint.isVisible() ? hint.textContent() : '';
  };
  let found = null;
  for (const spot of spots) {
    found = found || ((await tells(spot)).startsWith('Critical path: ') ? spot : null);
  }
  assert.ok(found, 'none of ' + spots.length + ' arrows tells anything');
  assert.match(await tells(found), /^Critical path: [a-z -]+( \([a-z ]+\))?from (rank \d+, .*|work outside this picture) to (rank \d+, .*|work outside this picture), at [\d.]+/);
  await page.getByRole('checkbox', {name: 'Critical path'}).uncheck();
  await settled(page);
  assert.ok(!(await tells({x: found.x + 1, y: found.y})).startsWith('Critical path: '));
};

/* The address keeps a view: what is shown and what is pinned, to the nanosecond. */
rare['the address restores a view'] = async () => {
  const page = await open('example');
  const origin = await originOf(page);
  const tasks = tasksOf('example').filter((one) => one.kind === 'gemm' && one.rank === 1);
  const task = tasks[Math.floor(tasks.length / 2)];
  await reach(page, task, origin);
  await press(page, 'Escape');
  await region(page).focus();
  await press(page, 'w');
  await press(page, 'Enter');
  await page.waitForFunction(() => location.hash.includes('task='));
  const hash = await page.evaluate(() => location.hash);
  assert.match(hash, /^#t=-?[\d.]+(ns|us|ms)--?[\d.]+(ns|us|ms)&task=\d+:\d+$/);
  const where = await panel(page).locator('.where').textContent();
  const shown = await page.locator('.tools .span').first().textContent();
  const again = await open('example', {}, hash);
  await settled(again);
  assert.equal(await panel(again).locator('.where').textContent(), where);
  assert.equal(await again.locator('.tools .span').first().textContent(), shown);
  assert.equal(await again.evaluate(() => location.hash), hash);
  await again.evaluate(([id]) => (location.hash = '#t=1ms-2ms&task=' + id), [task.id]);
  await again.waitForFunction((id) => document.querySelector('[aria-label="The pinned task"]:not([hidden]) .where').textContent.endsWith('task ' + id), task.id);
  assert.equal(await across(again), 1e6);
  await agrees(panel(again), task, origin);
  for (const bad of ['#t=5ms-1ms', '#t=x&task=nobody', '#task=0:99999999', '#t=-1e99ms-2ms', '#table-kernels']) {
    const other = await open('example', {}, bad); /* nothing is shown of it, and nothing breaks */
    await settled(other);
    assert.equal(await across(other), Infinity, bad);
    close(other);
  }
};

checks['search finds tasks by name, one after the other in time'] = async () => {
  const page = await open('example');
  const origin = await originOf(page);
  const all = tasksOf('example').filter((one) => one.name.toLowerCase().includes('nccl')).sort((a, b) => a.sim_start - b.sim_start);
  const first = all.findIndex((one) => one.sim_start >= origin); /* of what is shown */
  assert.ok(first > 0 && first + 1 < all.length);
  await region(page).focus();
  await press(page, '/');
  await page.keyboard.type('NCCL');
  const count = page.locator('.found').first();
  assert.equal(await count.textContent(), all.length.toLocaleString('en-US') + ' found');
  await press(page, 'Enter');
  assert.equal(await count.textContent(), (first + 1) + ' of ' + all.length);
  await agrees(panel(page), all[first], origin);
  assert.equal(await page.evaluate(() => document.activeElement.type), 'search'); /* Enter again goes on */
  await press(page, 'Enter');
  await agrees(panel(page), all[first + 1], origin);
  for (let i = first + 1; i > -1; i--) { /* one more than there are before it: from the first to the last */
    await page.getByRole('button', {name: 'Find previous'}).click();
  }
  await page.getByRole('button', {name: 'Find next'}).click();
  await settled(page);
  await agrees(panel(page), all[0], origin);
  await page.getByRole('searchbox', {name: 'Find tasks by name'}).fill('nccl_dev-kernel all_reduce'); /* as nobody writes it */
  const sums = all.filter((one) => one.name.toLowerCase().includes('nccldevkernel_allreduce'));
  assert.ok(sums.length > 0 && await count.textContent() === sums.length.toLocaleString('en-US') + ' found');
  await page.getByRole('searchbox', {name: 'Find tasks by name'}).fill('no such <b>name</b>');
  assert.equal(await count.textContent(), 'none on this page');
  await press(page, 'Enter');
};

rare['w, a, s and d zoom and pan'] = async () => {
  const page = await open('hand');
  const from = async () => (await page.locator('.tools .span').first().textContent()).split(' to ')[0];
  await region(page).focus();
  await press(page, 'w');
  const once = await across(page);
  assert.ok(once < Infinity);
  const middle = await from();
  await press(page, 'd');
  const right = await from();
  assert.notEqual(right, middle);
  assert.equal(await across(page), once);
  await press(page, 'a');
  assert.equal(await from(), middle);
  await press(page, 's');
  assert.equal(await across(page), Infinity);
};

/* The axis begins with the first step; a button shows what came before. */
checks['the timeline begins at the first step'] = async () => {
  const page = await open('example');
  const {from, begin, steps} = await page.evaluate(() => JSON.parse(document.getElementById('lumos-tasks').textContent));
  assert.equal(from, steps[0][1]);
  assert.ok(begin < from);
  await page.getByRole('button', {name: 'Show what came before'}).first().click();
  await settled(page);
  assert.match(await page.locator('.tools .span').first().textContent(), /^\u2212/);
  await page.getByRole('button', {name: 'Fit all'}).first().click();
  await settled(page);
  assert.equal(await across(page), Infinity);
};

/* What is known of a pinned kernel: from the op that launched it to the bytes that it moved. */
checks['the pinned task shows its op, pass, shapes, bytes and wait'] = async () => {
  const page = await open('example');
  const origin = await originOf(page);
  const tasks = tasksOf('example');
  const known = async (task) => {
    await reach(page, task, origin);
    return page.evaluate(() => Object.fromEntries(Array.from(document.querySelectorAll('[aria-label="The pinned task"]:not([hidden]) dt'), (term) => [term.textContent, term.nextSibling.textContent])));
  };
  const spans = new Map(records('example.sim').filter(({type}) => type === 'span').map((span) => [span.id, span]));
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const gemm = tasks.find((one) => one.kind === 'gemm' && one.rank === 1 && one.layer > 0 && one.call);
  let op = spans.get(byId.get(gemm.call).span);
  while (op.kind !== 'op') {
    op = spans.get(op.parent);
  }
  const of = await known(gemm);
  assert.equal(of.op, op.name);
  assert.ok(op.shapes.length > 10);
  assert.equal(of.shapes, op.shapes);
  assert.equal(of['part of'], gemm.phase + ', micro-batch ' + gemm.micro_batch + ', layer ' + gemm.layer);
  const moved = tasks.find((one) => one.bytes > 1e6 && one.rank === 0);
  const {bytes} = await known(moved);
  assert.ok(bytes.includes('(' + moved.bytes.toLocaleString('en-US') + ')'), bytes);
  const queued = tasks.filter(({call}) => call).map((one) => ({one, since: byId.get(one.call).sim_start + byId.get(one.call).sim_dur}))
    .filter(({one, since}) => one.kind === 'gemm' && one.sim_start - since > 1e6)[0];
  const {waited} = await known(queued.one);
  assert.match(waited, /^[\d.]+\u00a0ms, since its launch at /);
};

checks['the graph is sized, and its boxes lead to the timeline'] = async () => {
  const page = await open('example');
  const origin = await originOf(page);
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => details.setAttribute('open', '')));
  const graph = page.locator('[data-picture="graph"] svg');
  const width = async () => (await graph.boundingBox()).width;
  const before = await width();
  await page.getByRole('button', {name: 'Enlarge'}).click();
  assert.ok(Math.abs(await width() / before - 1.4) < 0.01);
  await page.getByRole('button', {name: 'Shrink'}).click();
  assert.ok(Math.abs(await width() / before - 1) < 0.01);
  await page.getByRole('button', {name: 'Fit graph'}).click();
  assert.ok((await graph.boundingBox()).height < 900);
  await page.getByRole('button', {name: 'Reset size'}).click();
  assert.equal(await width(), before);

  const boxes = page.locator('g.box');
  const number = Math.floor(await boxes.count() / 4);
  const view = await boxes.nth(number).getAttribute('data-view');
  const [, from, until, id] = /^t=(-?\d+)ns-(-?\d+)ns&task=(.*)$/.exec(view);
  const task = tasksOf('example').find((one) => one.id === id);
  const isThere = async () => {
    await settled(page);
    await agrees(panel(page), task, origin);
    const wide = await across(page);
    assert.ok(wide >= Number(until) - Number(from) && wide < 3 * (Number(until) - Number(from)), wide + ' for ' + view);
  };
  await boxes.nth(number).click({position: {x: 60, y: 10}});
  await isThere();
  await press(page, 'Escape');
  await page.getByRole('button', {name: 'Fit all'}).first().click();
  await boxes.first().focus(); /* by keys: to the one box that Tab comes to, down, and Enter */
  assert.equal(await page.locator('g.box[tabindex="0"]').count(), 1);
  for (let i = 0; i < number; i++) {
    await page.keyboard.press('ArrowDown');
  }
  const words = await boxes.nth(number).locator('text').first().textContent();
  assert.ok((await page.getByRole('button', {name: words}).evaluateAll((all) => all.indexOf(document.activeElement))) >= 0, words);
  await press(page, 'Enter');
  await isThere();
};

rare['ranks fold, and unfold for what is in them'] = async () => {
  const page = await open('example');
  const origin = await originOf(page);
  const height = async () => (await page.locator('.layers > svg').first().boundingBox()).height;
  const painted = () => page.evaluate(() => document.querySelector('[data-picture="timeline"] canvas').toDataURL());
  const before = await height();
  const image = await painted();
  const lanes = await page.evaluate(() => JSON.parse(document.getElementById('lumos-tasks').textContent).lanes.map(({rank}) => rank));
  const visible = () => page.locator('[data-picture="timeline"] rect.track').evaluateAll((tracks) => tracks.map((track) => Number(track.getAttribute('height'))));
  await page.getByRole('button', {name: 'Fold rank 0'}).focus();
  await press(page, 'Enter');
  assert.match(await statusOf(page), /^Rank 0 is folded$/);
  const folded = page.getByRole('button', {name: 'Unfold rank 0'});
  assert.equal(await folded.getAttribute('aria-expanded'), 'false');
  assert.ok(await height() < before - 60);
  const heights = await visible();
  assert.deepEqual(heights.filter((one, i) => lanes[i] === 0 && one > 0), [9]); /* one row is left, half as high */
  assert.ok(heights.every((one, i) => lanes[i] === 0 || one === 18));

  /* The page's own drawing moves with its lanes. */
  const strays = await page.evaluate(() => {
    const svg = document.querySelector('[data-picture="timeline"] .layers > svg');
    const rects = Array.from(svg.querySelectorAll('rect.track'), (rect) => rect.getBoundingClientRect()).filter(({height}) => height > 0);
    const groups = Array.from(svg.querySelectorAll(':scope > g:not(.marks, .routes, .gone)'), (group) => group.getBoundingClientRect());
    return groups.filter((one) => one.height > 0 && !rects.some((rect) => one.top >= rect.top - 1 && one.bottom <= rect.bottom + 1)).length;
  });
  assert.equal(strays, 0);

  /* What is below is hit where it stands now; what is folded unfolds when it is gone to. */
  const below = tasksOf('example').filter((one) => one.kind === 'gemm' && one.rank === 1)[5];
  await reach(page, below, origin);
  await agrees(panel(page), below, origin);
  await press(page, 'Escape');
  const inside = tasksOf('example').find((one) => one.rank === 0 && one.kind === 'launch' && one.sim_start > origin);
  await page.evaluate((id) => (location.hash = '#task=' + id), inside.id);
  await page.getByRole('button', {name: 'Fold rank 0'}).waitFor();
  await settled(page);
  await agrees(panel(page), inside, origin);
  assert.equal(await height(), before);
  await press(page, 'Escape');
  await page.getByRole('button', {name: 'Fit all'}).first().click();
  await page.mouse.move(0, 0);
  await settled(page);
  assert.ok(await painted() === image);
};

/* In a narrow window the graph shows boxes, the timeline the beginning of the first step. */
rare['a telephone shows boxes of the graph and the first step'] = async () => {
  const page = await open('example', {viewport: {width: 390, height: 844}});
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => details.setAttribute('open', '')));
  const box = await page.locator('g.box rect').first().boundingBox();
  assert.ok(box.x >= 0 && box.x < 200 && box.width > 120, JSON.stringify(box));
  const zero = await page.locator('[data-picture="timeline"] text.muted', {hasText: /^0$/}).first().boundingBox();
  assert.ok(zero.x > 0 && zero.x < 390);
};

/* Where the first box is in sight as it is, the graph begins at its left end, where the times are. */
checks['the graph begins at its left end'] = async () => {
  const page = await open('example', {viewport: {width: 1000, height: 800}});
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => details.setAttribute('open', '')));
  await page.waitForFunction(() => document.querySelector('.graph').clientWidth > 0);
  await settled(page);
  const [left, over, width] = await page.evaluate(() => {
    const graph = document.querySelector('.graph');
    const box = graph.querySelector('g.box rect').getBoundingClientRect();
    return [graph.scrollLeft, graph.scrollWidth - graph.clientWidth, graph.getBoundingClientRect().right - box.right];
  });
  assert.ok(over > 100 && width > 0, `${over} ${width}`);
  assert.equal(left, 0);
};

/* Bars of the canvas have their names written on them where these fit. */
checks['names stand in bars'] = async () => {
  const page = await open('hand');
  const written = await page.evaluate(() => new Promise((done) => {
    const texts = [];
    const {fillText} = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      texts.push(text);
      fillText.call(this, text, ...place);
    };
    document.getElementById('path').click(); /* it is painted anew */
    requestAnimationFrame(() => requestAnimationFrame(() => done(texts)));
  }));
  assert.deepEqual(written.filter((text) => text !== ''), ['sgemm 59999999999']); /* all others are too short */
};

/* Times: C writes the totals that each path of the picture tells, one kernel to a stream, the script what it takes. */
rare['the script writes numbers as the page does'] = async () => {
  const page = await open('hand');
  const lanes = await page.evaluate(() => Array.from(document.querySelectorAll('svg g path title'), (title) => title.textContent));
  const written = new Map();
  for (const text of lanes) {
    const match = /^rank 0, compute \((stream \d+)\): GEMM, (.*) in 1\u00a0task$/.exec(text);
    if (match) {
      written.set(match[1], match[2]);
    }
  }
  assert.ok(written.size >= 24);
  await region(page).focus();
  await press(page, 'Enter');
  const seen = new Map();
  for (let i = 0; i < written.size + 4; i++) {
    const match = /, compute \((stream \d+)\), starts at .*, takes (.*)$/.exec(await statusOf(page));
    if (match) {
      seen.set(match[1], match[2]);
    }
    await press(page, 'ArrowDown');
  }
  for (const [stream, text] of written) {
    if (stream !== 'stream 7') {
      assert.equal(seen.get(stream), text, stream);
    }
  }

  /* The axis: of a little less than the whole, the same times have the same labels. */
  const labels = () => page.evaluate(() => {
    const of = (selector) => Array.from(document.querySelectorAll(selector), (text) => text.textContent);
    return {own: of('.layers > svg:first-child text.muted.far'), drawn: of('.axis text.muted')};
  });
  await press(page, 'Escape');
  await press(page, '0');
  assert.equal(await across(page), Infinity);
  await page.evaluate(() => document.querySelector('.layers').scrollIntoView());
  const now = await region(page).locator('canvas').boundingBox();
  await page.mouse.move(now.x + 2, now.y + 30);
  await page.mouse.down();
  await page.mouse.move(now.x + now.width - 2, now.y + 30, {steps: 3});
  await page.mouse.up();
  await settled(page);
  const both = await labels();
  const inside = both.own.slice(2, -2); /* each stands above and below */
  assert.ok(inside.length >= 10);
  for (const label of inside) {
    assert.ok(both.drawn.includes(label), label + ' is none of ' + both.drawn.join(', '));
  }
};

/* Every column of every table: the rows' values are in order, no row is lost, groups stay together, and a third press undoes it. */
checks['tables sort by value'] = async () => {
  const page = await open('example');
  const summary = await page.evaluate(() => JSON.parse(document.getElementById('lumos-summary').textContent));
  /* The rows as they stand, with the sorting that their headings claim; then after each of three presses of each heading's button. */
  const read = async (name) => JSON.parse(await page.evaluate((id) => {
    const table = document.querySelector('table[aria-labelledby="' + id + '"]');
    const now = () => ({
      order: Array.from(table.tHead.rows[0].cells, (cell) => cell.getAttribute('aria-sort')),
      rows: Array.from(table.tBodies[0].rows, (row) => ({again: row.classList.contains('again'), cells: Array.from(row.cells, (cell) => cell.textContent),
        paints: Array.from(row.cells, (cell) => cell.classList.contains('swatch'))})),
    });
    return JSON.stringify([now(), Array.from(table.tHead.rows[0].cells, (cell) => [1, 2, 3].map(() => {
      cell.querySelector('button').click();
      return now();
    }))]);
  }, 'table-' + name));
  const text = (row) => JSON.stringify(row.cells);
  let sorted = 0;
  for (const [name, {columns, rows}] of Object.entries(summary.tables)) {
    if (rows.length < 2) {
      continue;
    }
    const [original, pressed] = await read(name);
    assert.equal(original.rows.length, rows.length, name);
    const values = new Map(original.rows.map((row, i) => [text(row), rows[i]])); /* a row is known by what all its cells say */
    const pairs = (list) => list.map((row, i) => (row.again ? text(list[i - 1]) + text(row) : '')).filter(Boolean).sort();
    for (let column = 0; column < columns.length; column++) {
      const numeric = rows.some((row) => typeof row[column] === 'number');
      for (const order of numeric ? ['descending', 'ascending'] : ['ascending', 'descending']) {
        const now = pressed[column].shift();
        assert.deepEqual(now.order, columns.map((_, i) => (i === column ? order : null)));
        assert.deepEqual(now.rows.map(text).sort(), original.rows.map(text).sort(), 'a row is lost');
        assert.deepEqual(pairs(now.rows), pairs(original.rows), 'what continues a row left it');
        const heads = now.rows.filter((row) => !row.again).map((row) => (row.paints[column] ? row.cells[column] : values.get(text(row))[column]));
        const known = heads.filter((value) => value !== null);
        assert.deepEqual(heads.slice(0, known.length), known, name + ': the unknown come last');
        for (let i = 1; i < known.length; i++) {
          const [a, b] = order === 'ascending' ? [known[i - 1], known[i]] : [known[i], known[i - 1]];
          assert.ok(typeof a === 'number' ? a <= b : a.localeCompare(b, 'en', {numeric: true}) <= 0, name + '.' + columns[column] + ': ' + a + ', ' + b);
        }
      }
      assert.deepEqual(pressed[column].shift(), original);
      sorted++;
    }
  }
  assert.ok(sorted > 40, 'only ' + sorted + ' columns');
};

/* Of every table: what does not contain the words goes, what was folded comes, and what is copied or saved has all rows that fit, in
   the units of the headings. */
checks['tables filter, unfold, copy and download'] = async () => {
  const page = await open('example');
  const {tables} = await page.evaluate(() => JSON.parse(document.getElementById('lumos-summary').textContent));
  const wordOf = (rows) => (rows[rows.length - 1].find((value) => typeof value === 'string') ?? '').slice(0, 12);
  const words = Object.entries(tables).filter(([, {rows}]) => rows.length > 1).map(([name, {rows}]) => [name, wordOf(rows)]);
  /* Of all tables at once, and what they save is caught before it is a download, for each of these takes long. */
  const found = JSON.parse(await page.evaluate(async (words) => {
    const {createObjectURL} = URL;
    let saved = {};
    URL.createObjectURL = (blob) => (saved.blob = blob) && createObjectURL(blob);
    HTMLAnchorElement.prototype.click = function () {
      saved.file = this.download;
    };
    const list = [];
    for (const [name, word] of words) {
      const table = document.querySelector(`table[aria-labelledby="table-${name}"]`);
      if (table === null) {
        continue;
      }
      const shown = () => Array.from(table.tBodies[0].rows).filter((row) => !row.hidden).length;
      const scroll = table.closest('.scroll');
      const tools = scroll.previousElementSibling;
      const [input] = tools.matches('.tools.rows') ? tools.querySelectorAll('input') : [];
      const [copy, save, ...others] = tools.matches('.tools.rows') ? tools.querySelectorAll('button') : [];
      const one = {name, word, first: shown(), filters: Boolean(input), buttons: Boolean(copy && save) && others.length === 0};
      scroll.nextElementSibling?.matches('button.more') && scroll.nextElementSibling.click();
      one.all = shown();
      if (input) {
        input.value = word.toUpperCase();
        input.dispatchEvent(new Event('input'));
      }
      one.left = shown();
      saved = {};
      save.click();
      list.push({...one, file: saved.file, text: await saved.blob.text()});
    }
    URL.createObjectURL = createObjectURL;
    delete HTMLAnchorElement.prototype.click;
    return JSON.stringify(list);
  }, words));
  for (const {name, word, first, filters, buttons, all, left, file, text} of found) {
    const {columns, rows} = tables[name];
    assert.ok(buttons, name);
    assert.ok(rows.length <= 25 || first < 25, name);
    assert.equal(all, rows.length, name);
    assert.equal(filters, word !== '', name); // the others have numbers alone
    assert.ok(left >= 1 && left <= rows.length, name + ': ' + word);
    assert.equal(file, name + '.csv');
    const lines = text.trimEnd().split('\n');
    assert.equal(lines.length, 1 + left, name);
    assert.ok(lines[0].split(',').length >= columns.length, name);
    assert.ok(lines.slice(1).every((line) => line.toLowerCase().includes(word.toLowerCase().split('"')[0])), name);
  }
  assert.ok(found.length > 20, found.length + ' tables');
  assert.ok(found.some(({first, all}) => first < all), 'no table is folded');
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
  /* Milliseconds and per cent, not ns and fractions; the clipboard has tabs. */
  const kernels = page.locator('.tools.rows:has(+ .scroll table[aria-labelledby="table-kernels"])');
  await kernels.locator('input').evaluate((input) => {
    input.value = '';
    input.dispatchEvent(new Event('input'));
  });
  const [download] = await Promise.all([page.waitForEvent('download'), kernels.locator('button').nth(1).evaluate((button) => button.click())]);
  const lines = fs.readFileSync(await download.path(), 'utf8').trimEnd().split('\n');
  assert.equal(download.suggestedFilename(), 'kernels.csv');
  assert.equal(lines.length, 1 + tables.kernels.rows.length);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await kernels.locator('button').first().evaluate((button) => button.click());
  await kernels.locator('button', {hasText: 'Copied'}).waitFor();
  const copied = (await page.evaluate(() => navigator.clipboard.readText())).trimEnd().split('\n').map((line) => line.split('\t'));
  const [first] = tables.kernels.rows;
  assert.equal(copied.length, 1 + tables.kernels.rows.length);
  assert.deepEqual(copied[0].slice(2, 5), ['count', 'GPU time ms', 'share %']);
  assert.deepEqual(copied[1].slice(3, 5).map(Number), [first[3] / 1e6, Number((first[4] * 100).toPrecision(15))]);
};

/* Without scripts nothing is missing, and nothing is there that does nothing. */
checks['complete without scripts, also on paper'] = async () => {
  const page = await open('example', {javaScriptEnabled: false});
  const scripted = await open('example');
  for (const dead of ['button', '[hidden]', '.tools', '.sort', 'canvas']) {
    assert.equal(await page.locator(dead).count(), 0, dead);
  }
  for (const kept of ['section', 'svg rect.track', 'tbody tr', 'h2', 'dt', '.tiles li']) {
    assert.equal(await page.locator(kept).count(), await scripted.locator(kept).count(), kept);
  }
  const pictures = page.locator('.picture svg');
  assert.ok(await pictures.count() >= 2);
  for (let i = 0; i < await pictures.count(); i++) {
    const box = await pictures.nth(i).boundingBox();
    assert.ok(box === null || box.width === 0 ? await page.locator('details .picture svg').count() > 0 : box.width > 300 && box.height >= 30); // a single bar is the least
  }
  const sections = page.locator('main > section');
  for (let i = 0; i < await sections.count(); i++) {
    assert.ok(await sections.nth(i).isVisible());
  }
  const folded = await page.locator('main > section details:not([open]) table').first().elementHandle();
  assert.ok(!(await folded.isVisible()));
  await page.emulateMedia({media: 'print'});
  assert.ok(!(await folded.isVisible())); // what is folded stays so on paper
  await page.setViewportSize({width: 700, height: 1000}); // as wide as paper: nothing scrolls there, so nothing may stick out
  for (let i = 0; i < await pictures.count(); i++) {
    const box = await pictures.nth(i).boundingBox();
    assert.ok(box === null || box.x + box.width <= 700, `a picture ends at ${box?.x + box?.width} on paper`);
  }
  const paper = await page.pdf({format: 'A4'});
  const sheets = (one) => one.toString('latin1').match(/\/Type\s*\/Page\b(?!s)/g).length;
  assert.ok(sheets(paper) <= 8, sheets(paper) + ' pages on paper');
  await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => (details.open = true)));
  assert.ok(await folded.isVisible());
  assert.ok(sheets(await page.pdf({format: 'A4'})) > sheets(paper), 'what is unfolded is not printed');
  const scriptedPaper = sheets(await scripted.pdf({format: 'A4'}));
  assert.ok(scriptedPaper <= 8, scriptedPaper + ' pages on paper with scripts');
  assert.ok(paper.length > 20000);
};

/* A telephone has a picture of its own of where the step went, which says the same. */
checks['a telephone need not scroll sideways to see where the step went'] = async () => {
  const times = (page, css) =>
    page.locator(css + ' svg text').allTextContents().then((texts) => texts.filter((text) => /\s(ms|µs)(,|$)/.test(text)));
  const small = await open('example', {viewport: {width: 390, height: 844}, javaScriptEnabled: false});
  const large = await open('example', {javaScriptEnabled: false});
  for (const [subject, least] of [['where the step went', 3], ['what the critical path is made of', 1]]) {
    const figure = `figure:has([aria-label="Picture: ${subject}"]) `;
    const box = await small.locator(figure + '.narrow svg').boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390 && box.height > 40);
    assert.ok(!(await small.locator(figure + '.wide').isVisible()));
    assert.ok(await large.locator(figure + '.wide').isVisible());
    assert.ok(!(await large.locator(figure + '.narrow').isVisible()));
    const said = await times(large, figure + '.wide');
    assert.ok(said.length >= least);
    assert.deepEqual(await times(small, figure + '.narrow'), said);
  }
};

rare['a tap pins a task, and what is pinned is in sight'] = async () => {
  const page = await open('example', {viewport: {width: 390, height: 844}, hasTouch: true, isMobile: true});
  await page.getByRole('button', {name: 'Zoom in'}).first().tap();
  await region(page).press('Enter');
  await settled(page);
  const id = async () => /task (.*)$/.exec(await panel(page).locator('.where').textContent())[1];
  const first = await id();
  const box = await region(page).boundingBox();
  await page.touchscreen.tap(box.x + box.width / 2, await page.evaluate(() => document.querySelector('rect.track').getBoundingClientRect().top + 5));
  await settled(page);
  const origin = await originOf(page);
  const byId = new Map(tasksOf('example').map((task) => [task.id, task]));
  await agrees(panel(page), byId.get(first), origin); /* the first lane's middle task stands in the middle of the frame */
  await press(page, 'z');
  await press(page, 'c');
  const cause = byId.get(await id());
  assert.notEqual(cause.id, first);
  await agrees(panel(page), cause, origin);
};

/* Nothing runs but the script that the policy names. */
checks['nothing else may run'] = async () => {
  const page = await open('example');
  const ran = await page.evaluate(async () => {
    const script = document.createElement('script');
    script.textContent = 'window.intruder = 1';
    document.body.append(script);
    const image = document.createElement('img');
    image.setAttribute('onerror', 'window.intruder = 2');
    image.src = 'data:,';
    document.body.append(image);
    await new Promise((done) => setTimeout(done, 100));
    return window.intruder;
  });
  assert.equal(ran, undefined);
  const refused = faults.splice(0);
  assert.ok(refused.some((text) => /script-src/.test(text)));
};

/* Of a page as it is now. */
async function judge(page, when) {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', {expression: axe}); /* the page's policy keeps scripts out */
  const {violations} = await page.evaluate(() => window.axe.run({resultTypes: ['violations']}));
  for (const {impact, id, nodes} of violations) {
    assert.ok(impact !== 'serious' && impact !== 'critical', when + ': ' + id + ' (' + impact + '): ' + nodes.map((node) => node.html).slice(0, 3).join('\n'));
  }
}

/* Templates of C++ have names of thousands of letters. */
rare['keys scroll a pinned name that is longer than its room'] = async () => {
  fs.writeFileSync('long.html', markup('example').replace(/(<script[^>]* id="lumos-tasks">)([^]*?)(<\/script>)/, (_, before, text, after) => {
    const tasks = JSON.parse(text);
    tasks.texts = tasks.texts.map((text) => text + ', long'.repeat(500));
    return before + JSON.stringify(tasks).replace(/</g, '\\u003c') + after;
  }));
  for (const [name, stops] of [['long', 1], ['example', 0]]) {
    const page = await open(name);
    await region(page).focus();
    await press(page, '+');
    await press(page, 'Enter');
    assert.equal(await panel(page).locator('.name[tabindex="0"]').count(), stops);
    if (stops) {
      await judge(page, 'with a long name');
      await panel(page).locator('.name').focus();
      await page.keyboard.press('PageDown');
      await page.waitForFunction(() => document.activeElement.matches('.name') && document.activeElement.scrollTop > 0);
    }
    close(page);
  }
};

for (const colorScheme of every ? ['light', 'dark'] : ['light']) {
  for (const width of every ? [1280, 390] : [1280]) {
    checks['axe-core finds nothing serious: ' + colorScheme + ', ' + width + ' pixels'] = async () => {
      const page = await open('example', {colorScheme, viewport: {width, height: 844}});
      await judge(page, 'as it opens');
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, 'the page itself scrolls sideways');
      await page.evaluate(() => document.querySelectorAll('details').forEach((details) => details.setAttribute('open', '')));
      await region(page).focus();
      await press(page, '+');
      await press(page, 'Enter');
      await page.locator('.sort').first().click();
      if (every) { /* which takes far longer */
        await judge(page, 'zoomed, with a pinned task and all folds open');
      }
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, 'the page itself scrolls sideways');
      close(page);
    };
  }
}

/* ---- The largest public set ---- */

const ganttBytes = (text) => {
  const start = text.indexOf('<section aria-labelledby="timeline">');
  const section = text.slice(start, text.indexOf('</section>', start));
  const tasks = /<script type="application\/json" id="lumos-tasks">[^]*?<\/script>/.exec(text)[0];
  return Buffer.byteLength(section) + Buffer.byteLength(tasks);
};

/* From the navigation to the load event, and to the first picture on the screen, in ms. */
async function opening(name) {
  const page = await open(name);
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
  const times = await page.evaluate(() => {
    const [navigation] = performance.getEntriesByType('navigation');
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    return {load: navigation.loadEventEnd, paint: paint.startTime};
  });
  return times;
}

const large = {};

large['the Gantt is below 3 MB'] = async () => {
  const bytes = ganttBytes(markup('large'));
  const {load, paint} = await opening('large');
  console.log('  %s bytes; opens in %s ms (load event), %s ms (first picture)', bytes, Math.round(load), Math.round(paint));
  assert.ok(bytes < 3e6 && bytes > 1e5);
};

large['what launched and what held a kernel is a key away'] = async () => {
  const page = await open('large');
  const origin = await originOf(page);
  const tasks = tasksOf('large');
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const kernels = tasks.filter((task) => task.kind === 'gemm' && task.call !== null);
  const task = kernels.reduce((best, one) => (one.sim_dur > best.sim_dur ? one : best));
  await reach(page, task, origin);
  await agrees(panel(page), task, origin);
  await region(page).focus();
  await press(page, 'l');
  await agrees(panel(page), byId.get(task.call), origin);
  assert.match(await page.locator('.rest').filter({hasText: 'Pale columns'}).first().textContent(), /^Pale columns stand for [\d,]+ shorter tasks/);
};

/* Of a span that was asked for everything is there, so what is empty was idle; elsewhere columns stand for what is not on the page. */
large['a span that was asked for is there whole'] = async () => {
  const page = await open('window');
  const origin = await originOf(page);
  const [from, until] = [1e8, 1.05e8];
  const runs = (start, dur) => start - origin < until && start - origin + dur > from;
  const truth = tasksOf('large').filter((task) => runs(task.sim_start, task.sim_dur) || runs(task.start, task.dur));
  const there = await page.evaluate(() => JSON.parse(document.getElementById('lumos-tasks').textContent).lanes
    .map(({rank, task}) => task.map((difference, i) => [rank, i, difference])).flat()
    .reduce(({ids, last}, [rank, i, difference]) => {
      const id = i === 0 ? difference : last + difference;
      ids.push(rank + ':' + id);
      return {ids, last: id};
    }, {ids: [], last: 0}).ids);
  const known = new Set(there);
  assert.ok(truth.length > 100);
  assert.deepEqual(truth.filter((task) => !known.has(task.id)), []);

  const stream = truth.filter((task) => task.lane === 's7').sort((a, b) => a.sim_start - b.sim_start);
  const gaps = stream.slice(1).map((task, i) => ({before: stream[i], gap: task.sim_start - stream[i].sim_start - stream[i].sim_dur}));
  const {before, gap} = gaps.reduce((best, one) => (one.gap > best.gap && one.gap < 20 * one.before.sim_dur ? one : best), {gap: 0});
  assert.ok(gap > 1000);
  const alpha = async (one) => {
    const spot = await reach(one, before, origin);
    await agrees(panel(one), before, origin);
    await press(one, 'Escape');
    const x = await placeOf(one, before.sim_start + before.sim_dur + Math.min(gap, before.sim_dur) / 2 - origin);
    const [pixel] = await pixels(one, x, spot.y + 11, 1); /* columns stand on the lane's lower edge */
    return pixel[3];
  };
  assert.equal(await alpha(page), 0);
  const other = await open('large');
  assert.ok(await alpha(other) > 0);
};

/* ---- How long a page is ---- */

const HIGHEST = 7000; /* pixels at 1280 wide, before anything is unfolded */
const MOST_WORDS = 2500;

/* Words that can be seen, those of pictures with them. */
const lengthOf = (page) => page.evaluate(() => {
  const seen = Array.from(document.querySelectorAll('svg text')).filter((text) => text.checkVisibility()).map((text) => text.textContent);
  const drawn = new Set(document.querySelectorAll('svg'));
  drawn.forEach((picture) => (picture.style.visibility = 'hidden')); /* keeps its room, and gives no text */
  const words = (document.body.innerText + ' ' + seen.join(' ')).match(/\S*[\p{L}\p{N}]\S*/gu).length;
  drawn.forEach((picture) => (picture.style.visibility = ''));
  return {height: document.documentElement.scrollHeight, words};
});

async function checkLength(name) {
  const page = await open(name, {viewport: {width: 1280, height: 800}});
  const {height, words} = await lengthOf(page);
  console.log('  %s: %d pixels, %d words', name, height, words);
  assert.ok(height <= HIGHEST, name + ' is ' + height + ' pixels high');
  assert.ok(words < MOST_WORDS, name + ' has ' + words + ' words');
  const bottom = async (css) => {
    const box = await page.locator(css).first().boundingBox();
    return box.y + box.height;
  };
  for (const css of ['.eyebrow', 'h1', '.tiles', '.confidence', 'nav']) {
    assert.ok(await bottom(css) < 800, name + ': ' + css + ' is not on the first screen');
  }
  if (await page.locator('#breakdown').count() > 0) {
    assert.ok((await page.locator('[aria-label="Picture: where the step went"] svg').first().boundingBox()).y < 650, name + ': no bar on the first screen');
    assert.equal(await page.locator('.tiles li').count(), 4);
  }
  /* What the title says would help most is in sight below it. */
  const helps = (await page.locator('#opportunities').allTextContents()).join('').match(/^(.*) would help most$/);
  const evidence = await page.locator('.actions .evidence:visible').allTextContents();
  assert.ok(!helps || evidence.some((text) => text.startsWith(helps[1] + ':')), name + ': nothing shows ' + helps);
  /* The bar of sections leads to what is there, and stays in sight. */
  for (const link of await page.locator('nav a').all()) {
    const target = await link.getAttribute('href');
    assert.equal(await page.locator(target).count(), 1, name + ': ' + target);
  }
  await page.locator('nav a').last().click();
  await page.waitForFunction(() => document.querySelector('nav').getBoundingClientRect().y < 2);
}

/* ---- */

async function main() {
  const [what, name, ...more] = process.argv.slice(2);
  if (what === 'bench') {
    const browser = await launch();
    const {load, paint} = await opening(name);
    const text = markup(name);
    console.log(JSON.stringify({bench: 'page', set: name, bytes: Buffer.byteLength(text), gantt_bytes: ganttBytes(text),
      load_ms: Math.round(load), first_picture_ms: Math.round(paint)}));
    await browser.close();
    return;
  }
  if (what === 'short') {
    await run(Object.fromEntries([name, ...more].map((one) => ['the page of ' + one + ' is short', () => checkLength(one)])));
    return;
  }
  const wanted = what === 'large' ? large : every ? {...checks, ...rare} : checks;
  await run(Object.fromEntries(Object.entries(wanted).filter(([title]) => !name || title.includes(name))));
}

main().catch(end);
