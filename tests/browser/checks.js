/* What every page holds in Chromium, and how the scripts beside this one check it: it asks for nothing, complains of nothing, axe-core finds
   nothing in any light and width, nothing is wider than the window, every region that scrolls is reached with the keyboard, and on paper nothing
   is cut. */
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {chromium} = require('playwright-core');
const axe = require('axe-core').source;

const every = process.env.LUMOS_ALL === 'yes';
const faults = [];
let browser;

const addressOf = (file) => pathToFileURL(path.resolve(file)).href;

/* A page that may do nothing but be itself: what it asks for and what it complains of are faults. */
async function open(file, options, hash = '') {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, reducedMotion: 'reduce', ...options});
  context.setDefaultTimeout(900000); /* ms: a busy machine is no fault */
  const page = await context.newPage();
  page.on('console', (message) => faults.push(file + ': console ' + message.type() + ': ' + message.text()));
  page.on('pageerror', (error) => faults.push(file + ': ' + error.stack));
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== addressOf(file) && !request.url().startsWith('data:')) {
      faults.push(file + ': asks for ' + request.url());
    }
  });
  await page.goto(addressOf(file) + hash);
  return page;
}

async function axeFindsNothing(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', {expression: axe}); /* the page's policy keeps scripts out */
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
  const {violations} = await page.evaluate(() => window.axe.run({resultTypes: ['violations']}));
  assert.deepEqual(violations.map(({id, nodes}) => id + ': ' + nodes[0].html.slice(0, 200)), []);
}

async function fits(page) {
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than its window');
}

/* By default as their markup says, for a walk through a whole page takes seconds. */
async function regionsAreReached(page, least) {
  const wanted = await page.locator('.scroll:visible').count();
  const reached = new Set();
  assert.ok(await page.evaluate(() => [...document.querySelectorAll('.scroll')].every(({tabIndex}) => tabIndex === 0)));
  assert.ok(wanted >= least, wanted + ' regions scroll');
  for (let i = 0; every && i < 400 && reached.size < wanted; i++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => (document.activeElement.matches('.scroll')
      ? [...document.querySelectorAll('.scroll')].indexOf(document.activeElement) : -1)));
    reached.delete(-1);
  }
  assert.equal(reached.size, every ? wanted : 0);
}

async function paperCutsNothing(page, pictures) {
  await page.emulateMedia({media: 'print'});
  assert.equal(await page.locator('.tools:visible').count(), 0);
  assert.ok(await page.evaluate((selector) => document.querySelectorAll(selector).length > 0 &&
    [...document.querySelectorAll(selector)].every((svg) => svg.getBoundingClientRect().right <= innerWidth), pictures));
}

/* `pictures`: a selector of those that paper shows; `regions`: at least so many scroll. */
function checksOf(file, {pictures, regions}) {
  const lights = [['dark', 390], ['light', 1280], ['dark', 1280], ['light', 390]].slice(0, every ? 4 : 1);
  const checks = {};
  for (const [colorScheme, width] of lights) {
    checks[file + ': axe-core finds nothing, and it fits: ' + colorScheme + ', ' + width + ' pixels'] = async () => {
      const page = await open(file, {colorScheme, viewport: {width, height: 900}});
      await fits(page);
      await axeFindsNothing(page);
      await fits(page); /* with all unfolded */
    };
  }
  checks[file + ': the keyboard reaches what scrolls, and paper cuts nothing'] = async () => {
    const page = await open(file, {viewport: {width: 700, height: 900}});
    await fits(page);
    await regionsAreReached(page, regions);
    await page.setViewportSize({width: 1280, height: 900});
    await paperCutsNothing(page, pictures);
  };
  return checks;
}

async function run(checks) {
  browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ['--headless', '--no-sandbox', '--disable-gpu']});
  let failures = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
    } catch (error) {
      failures++;
      console.error('FAIL: ' + name + ': ' + error.message);
    }
  }
  faults.forEach((fault) => console.error('FAIL: ' + fault));
  await browser.close();
  process.exit(failures + faults.length > 0 ? 1 : 0);
}

module.exports = {addressOf, open, checksOf, run};
