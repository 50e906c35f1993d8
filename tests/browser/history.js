/* The page of a history, done in Chromium. Run by history.sh. */
'use strict';

const assert = require('node:assert/strict');
const {addressOf, open, checksOf, run, end} = require('./checks.js');

const file = 'nights/index.html';
const checks = checksOf(file, {pictures: '.trends svg', regions: 3});

checks['links lead to jobs and nights, by keyboard; a table sorts by its numbers'] = async () => {
  const page = await open(file);
  assert.ok(await page.evaluate(() => [...document.querySelectorAll('.said')].every((said) => said.scrollWidth <= said.clientWidth)), 'a reason is wider than its cell');
  assert.equal(await page.locator('.trends svg:visible').count(), 15); /* five of each job */
  await page.getByRole('link', {name: 'two'}).focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash === '#job-2');
  assert.ok(await page.evaluate(() => document.getElementById('job-2').getBoundingClientRect().top < innerHeight));
  const nights = page.locator('table[aria-labelledby="table-nights1"] a');
  assert.equal(await nights.count(), 12);
  assert.equal(await nights.first().evaluate((link) => link.href), new URL('one/2026-07-12.html', addressOf(file)).href);
  const table = page.locator('table[aria-labelledby="table-nights2"]');
  const numbers = async () => (await table.locator('tbody tr td:nth-child(2)').allTextContents()).map(parseFloat);
  const known = (await numbers()).filter((number) => !isNaN(number));
  assert.equal(known.length, 10);
  await table.getByRole('button', {name: 'Sort by step time ms'}).click();
  assert.deepEqual((await numbers()).slice(0, 10), [...known].sort((a, b) => b - a));
};

checks['a regression is red in every light'] = async () => {
  const page = await open(file);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme});
    const [red, fill, text] = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement('i'));
      probe.style.color = 'var(--serious)';
      return [getComputedStyle(probe).color, getComputedStyle(document.querySelector('.regressed rect')).fill,
        getComputedStyle(document.querySelector('td .serious')).color];
    });
    assert.equal(fill, red);
    assert.equal(text, red);
  }
};

run(checks).catch(end);
