/* The page of a history, done in Chromium. Run by history.sh. */
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {chromium} = require('playwright-core');
const axe = require('axe-core').source;

const address = pathToFileURL(path.resolve('nights/index.html')).href;
const faults = [];

async function open(browser, options) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, reducedMotion: 'reduce', ...options});
  context.setDefaultTimeout(900000); /* ms: a busy machine is no fault */
  const page = await context.newPage();
  page.on('console', (message) => faults.push('console ' + message.type() + ': ' + message.text()));
  page.on('pageerror', (error) => faults.push(error.stack));
  page.on('request', (request) => {
    if (request.url() !== address && !request.url().startsWith('data:')) {
      faults.push('asks for ' + request.url());
    }
  });
  await page.goto(address);
  return page;
}

async function axeFindsNothing(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', {expression: axe}); /* the page's policy keeps scripts out */
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
  const {violations} = await page.evaluate(() => window.axe.run({resultTypes: ['violations']}));
  assert.deepEqual(violations.map(({id, nodes}) => id + ': ' + nodes[0].html.slice(0, 200)), []);
}

const checks = {
  'the pictures fit a screen and a telephone': async (browser) => {
    for (const width of [1280, 390]) {
      const page = await open(browser, {viewport: {width, height: 900}});
      assert.equal(await page.locator('.trends svg:visible').count(), 10);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than ' + width);
      assert.ok(await page.evaluate(() => [...document.querySelectorAll('.trends svg')].every((svg) => svg.getBoundingClientRect().right <= innerWidth)));
    }
  },
  'links lead to jobs and nights, by keyboard': async (browser) => {
    const page = await open(browser);
    await page.getByRole('link', {name: 'two'}).focus();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash === '#job-2');
    assert.ok(await page.evaluate(() => document.getElementById('job-2').getBoundingClientRect().top < innerHeight));
    const nights = page.locator('table[aria-labelledby="table-nights1"] a');
    assert.equal(await nights.count(), 12);
    assert.equal(await nights.first().evaluate((link) => link.href), new URL('one/2026-07-12.html', address).href);
  },
  'a regression is red in every light': async (browser) => {
    for (const colorScheme of ['light', 'dark']) {
      const page = await open(browser, {colorScheme});
      const [red, fill, text] = await page.evaluate(() => {
        const probe = document.body.appendChild(document.createElement('i'));
        probe.style.color = 'var(--serious)';
        return [getComputedStyle(probe).color, getComputedStyle(document.querySelector('.regressed rect')).fill,
          getComputedStyle(document.querySelector('td .serious')).color];
      });
      assert.equal(fill, red);
      assert.equal(text, red);
    }
  },
  'a table sorts by its numbers': async (browser) => {
    const page = await open(browser);
    const table = page.locator('table[aria-labelledby="table-nights2"]');
    const numbers = async () => (await table.locator('tbody tr td:nth-child(2)').allTextContents()).map(parseFloat);
    const known = (await numbers()).filter((number) => !isNaN(number));
    assert.equal(known.length, 10);
    await table.getByRole('button', {name: 'Sort by step time ms'}).click();
    assert.deepEqual((await numbers()).slice(0, 10), [...known].sort((a, b) => b - a));
  },
  'every region that scrolls is reached with the keyboard': async (browser) => {
    const page = await open(browser, {viewport: {width: 700, height: 900}});
    const wanted = await page.locator('.scroll:visible').count();
    const reached = new Set();
    for (let i = 0; i < 200 && reached.size < wanted; i++) {
      await page.keyboard.press('Tab');
      const name = await page.evaluate(() => document.activeElement.matches('.scroll') &&
        (document.activeElement.getAttribute('aria-label') || document.activeElement.getAttribute('aria-labelledby')));
      if (name) {
        reached.add(name);
      }
    }
    assert.equal(wanted, 3);
    assert.equal(reached.size, wanted);
  },
  'on paper nothing is cut': async (browser) => {
    const page = await open(browser);
    await page.emulateMedia({media: 'print'});
    assert.equal(await page.locator('.tools:visible').count(), 0);
    assert.ok(await page.evaluate(() => [...document.querySelectorAll('.trends svg')].every((svg) => svg.getBoundingClientRect().right <= innerWidth)));
  },
};

for (const [colorScheme, width] of [['light', 1280], ['dark', 390], ['dark', 1280], ['light', 390]].slice(0, process.env.LUMOS_ALL === 'yes' ? 4 : 2)) {
  checks['axe-core finds nothing: ' + colorScheme + ', ' + width + ' pixels'] = async (browser) =>
    axeFindsNothing(await open(browser, {colorScheme, viewport: {width, height: 900}}));
}

(async () => {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ['--headless', '--no-sandbox', '--disable-gpu']});
  let failures = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(browser);
    } catch (error) {
      failures++;
      console.error('FAIL: ' + name + ': ' + error.message);
    }
  }
  faults.forEach((fault) => console.error('FAIL: ' + fault));
  await browser.close();
  process.exit(failures + faults.length > 0 ? 1 : 0);
})();
