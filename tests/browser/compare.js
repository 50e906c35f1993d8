/* The pages of comparisons, of two jobs and of three, done in Chromium. Run by compare.sh. */
'use strict';

const assert = require('node:assert/strict');
const {open, checksOf, run, end} = require('./checks.js');

const every = process.env.LUMOS_ALL === 'yes';
const checks = {
  ...checksOf('two.html', {pictures: '.wide svg', regions: 4}),
  ...checksOf('three.html', {pictures: '.wide svg', regions: 6}),
};

/* Names stand beside bars, in as much room as there is. */
checks['one.html: it fits a telephone, and no name beside a bar is cut'] = async () => {
  const page = await open('one.html');
  for (const width of [1280, 390]) {
    await page.setViewportSize({width, height: 900});
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than ' + width);
    const texts = await page.evaluate(() => [...document.querySelectorAll('figure svg, .wide svg, .narrow svg')].filter((svg) => svg.getClientRects().length > 0 && !svg.closest('[data-picture="timeline"]')).flatMap((svg) => {
      const {left, right} = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()])
        .map(([words, box]) => ({words, cut: box.left < left - 1 || box.right > right + 1}));
    }));
    assert.ok(texts.some(({words}) => words === 'transfer or waiting (unknown)'), 'the picture of classes lacks one: ' + width);
    assert.deepEqual(texts.filter(({cut}) => cut).map(({words}) => words), []);
  }
};

const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const press = async (page, ...keys) => {
  for (const key of keys) {
    await page.keyboard.press(key);
    await settled(page);
  }
};
const shown = async (page) => new URLSearchParams(new URL(await page.evaluate(async () => {
  await new Promise((done) => setTimeout(done, 350)); /* the address is written when the view stands still */
  return location.href;
})).hash.slice(1));
const spanOf = (hash) => /^([\d.]+)(ms|us)-([\d.]+)(ms|us)$/.exec(hash.get('t')).slice(1).reduce((ends, text, i, all) =>
  (i % 2 === 0 ? [...ends, Number(text) * (all[i + 1] === 'ms' ? 1e6 : 1e3)] : ends), []);

/* Which of the embedded tasks one id names, and where it stands. */
const embeddedTask = (page, id) => page.evaluate((wanted) => {
  const {lanes, names, texts} = JSON.parse(document.getElementById('lumos-tasks').textContent);
  for (const {job, rank, lane, task, start, dur, name} of lanes) {
    let number = 0;
    let at = 0;
    for (let i = 0; i < task.length; i++) {
      number += task[i];
      at += start[i];
      if (job + rank + ':' + number === wanted) {
        return {job, rank, lane, start: at, dur: dur[i], name: texts[names[name[i]][1]]};
      }
    }
  }
  return null;
}, id);

checks['the pictures of a screen and of a telephone take turns; a table sorts by its numbers'] = async () => {
  const page = await open('two.html');
  assert.equal(await page.locator('.wide svg:visible').count(), 4);
  assert.equal(await page.locator('.narrow svg:visible').count(), 0);
  await page.locator('details', {has: page.locator('#table-kinds')}).locator('summary').click();
  const numbers = async () =>
    (await page.locator('[aria-labelledby="table-kinds"] tbody tr td:nth-child(2)').allTextContents()).map(Number);
  const before = await numbers();
  await page.locator('table[aria-labelledby="table-kinds"]').getByRole('button', {name: 'Sort by A ms'}).click();
  assert.deepEqual(await numbers(), [...before].sort((a, b) => b - a));
  await page.setViewportSize({width: 390, height: 800});
  assert.equal(await page.locator('.wide svg:visible').count(), 0);
  assert.equal(await page.locator('.narrow svg:visible').count(), 4);
};

for (const [file, jobs] of [['three.html', 'ABC'], ['two.html', 'AB']].slice(0, every ? 2 : 1)) {
  checks[file + ': the timelines of all jobs zoom and pan on one axis, by keys and by buttons'] = async () => {
    const page = await open(file);
    const region = page.locator('[data-picture="timeline"]');
    assert.equal(await region.count(), 1);
    await region.focus();
    await press(page, 'w', 'w');
    const [from, until] = spanOf(await shown(page));
    const whole = await page.evaluate(() => { /* the picture's own: as much time as its widest lane is long */
      const {pixels, column} = JSON.parse(document.getElementById('lumos-tasks').textContent);
      return Math.max(...[...document.querySelectorAll('[data-picture="timeline"] rect.track')].map((rect) => rect.getAttribute('width'))) / pixels * column;
    });
    assert.ok(Math.abs((until - from) * 4 / whole - 1) < 0.01 && Math.abs((from + until) / whole - 1) < 0.01, [from, until, whole].join());
    await press(page, 'd');
    const [panned] = spanOf(await shown(page));
    assert.ok(Math.abs((panned - from) / (until - from) - 0.2) < 0.01);
    /* The uppermost lane with work in the middle: a job's, and what is told of it is what is embedded of it. */
    await press(page, 'Enter');
    const hash = await shown(page);
    const panel = page.locator('[aria-label="The pinned task"]:visible');
    const task = await embeddedTask(page, hash.get('task'));
    assert.equal(await panel.locator('.name').textContent(), task.name);
    assert.match(await panel.locator('.where').textContent(), new RegExp(', ' + task.job + ', rank ' + task.rank + ', '));
    const [only] = await panel.locator('tr.start td').allTextContents();
    assert.equal(only.replace(/,/g, ''), (task.start / 1000).toFixed(3));
    /* From job to job: lanes of each follow each other. */
    const seen = new Set();
    for (let i = 0; i < 40 && seen.size < jobs.length; i++) {
      seen.add(/ task ([A-Z])\d+:\d+$/.exec(await panel.locator('.where').textContent())[1]);
      await press(page, 'ArrowDown');
    }
    assert.deepEqual([...seen].sort(), [...jobs]);
    await press(page, 'Escape', 'Escape');
    assert.equal((await shown(page)).get('t'), null);
    await page.getByRole('button', {name: 'Zoom in'}).click();
    await settled(page);
    assert.ok((await shown(page)).get('t') !== null);
    await page.getByRole('button', {name: 'Fit all'}).click();
    /* Folding a job's rank moves what is below it up, with its name. */
    const heading = page.locator('[data-picture="timeline"] svg > text', {hasText: /^rank 1$/});
    const before = await heading.evaluate((mark) => Number(mark.getAttribute('y')));
    assert.deepEqual((await page.locator('button.fold').allTextContents()).sort(), [...jobs + jobs].sort());
    await page.getByRole('button', {name: 'Fold A, rank 0'}).click();
    await settled(page);
    assert.ok(await heading.evaluate((mark) => Number(mark.getAttribute('y'))) < before - 18);
    /* A link shows the view again. */
    const again = await open(file, {}, '#' + hash);
    assert.equal(await again.locator('[aria-label="The pinned task"]:visible .name').textContent(), task.name);
  };
}

/* Ends of lanes: each job's ground ends where its step does, in whole and zoomed in. */
checks['a zoomed lane ends where its step does'] = async () => {
  const page = await open('three.html');
  const grounds = () => page.evaluate(() => [...document.querySelectorAll('[data-picture="timeline"] rect.track')].map((rect) => Number(rect.getAttribute('width'))));
  const whole = await grounds();
  await page.locator('[data-picture="timeline"]').focus();
  await press(page, 'w', 'End', 'd', 'd', 'd');
  const zoomed = await grounds();
  const widest = Math.max(...whole);
  whole.forEach((width, i) => assert.ok(Math.abs(zoomed[i] - Math.max(0, widest - 2 * (widest - width))) < 2, i + ': ' + width + ' became ' + zoomed[i]));
  assert.ok(Math.min(...whole) < widest - 20);
};

run(checks).catch(end);
