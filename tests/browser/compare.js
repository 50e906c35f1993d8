/* The page of a comparison, done in Chromium. Run by compare.sh. */
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {chromium} = require('playwright-core');
const axe = require('axe-core').source;

const address = pathToFileURL(path.resolve('compare.html')).href;
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
  'the pictures of a screen and of a telephone take turns': async (browser) => {
    const page = await open(browser);
    assert.equal(await page.locator('.wide svg:visible').count(), 3);
    assert.equal(await page.locator('.narrow svg:visible').count(), 0);
    await page.setViewportSize({width: 390, height: 800});
    assert.equal(await page.locator('.wide svg:visible').count(), 0);
    assert.equal(await page.locator('.narrow svg:visible').count(), 3);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than a telephone');
  },
  'a table sorts by its numbers': async (browser) => {
    const page = await open(browser);
    await page.locator('details', {has: page.locator('#table-kinds')}).locator('summary').click();
    const numbers = async () =>
      (await page.locator('[aria-labelledby="table-kinds"] tbody tr td:nth-child(2)').allTextContents()).map(Number);
    const before = await numbers();
    await page.locator('table[aria-labelledby="table-kinds"]').getByRole('button', {name: 'Sort by A ms'}).click();
    assert.deepEqual(await numbers(), [...before].sort((a, b) => b - a));
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
    assert.ok(wanted > 3);
    assert.equal(reached.size, wanted);
  },
  'on paper nothing is cut': async (browser) => {
    const page = await open(browser);
    await page.emulateMedia({media: 'print'});
    assert.equal(await page.locator('nav.contents:visible').count(), 0);
    assert.ok(await page.evaluate(() => document.querySelectorAll('.picture svg').length > 0 &&
      [...document.querySelectorAll('.wide svg')].every((svg) => svg.getBoundingClientRect().right <= innerWidth)));
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
