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

const contexts = new Map(); /* by options */
const pages = [];

/* A page that may do nothing but be itself: what it asks for and what it complains of are faults. To begin a context takes longer than most of what is
   checked in it, so that pages are used again, each as if it were new. */
async function open(file, {viewport = {width: 1280, height: 900}, colorScheme = 'light', ...options} = {}, hash = '') {
  const kind = JSON.stringify(options);
  let own = pages.find((one) => one.kind === kind && one.free);
  if (!own) {
    if (!contexts.has(kind)) {
      contexts.set(kind, await browser.newContext({viewport, colorScheme, reducedMotion: 'reduce', ...options}));
      contexts.get(kind).setDefaultTimeout(900000); /* ms: a busy machine is no fault */
    }
    own = {kind, page: await contexts.get(kind).newPage()};
    pages.push(own);
    own.page.on('console', (message) => faults.push(own.file + ': console ' + message.type() + ': ' + message.text()));
    own.page.on('pageerror', (error) => faults.push(own.file + ': ' + error.stack));
    own.page.on('request', (request) => {
      if (request.url().split('#')[0] !== addressOf(own.file) && !request.url().startsWith('data:')) {
        faults.push(own.file + ': asks for ' + request.url());
      }
    });
  } else {
    await own.page.bringToFront(); /* behind another it is drawn once a second */
    await own.page.goto('about:blank');
    await own.page.mouse.move(0, 0);
    await own.page.setViewportSize(viewport);
  }
  await own.page.emulateMedia({media: null, colorScheme});
  Object.assign(own, {file, free: false});
  await own.page.goto(addressOf(file) + hash);
  return own.page;
}

/* Another `open` may have the page; after a check it may have all. */
const close = (page) => (pages.find((one) => one.page === page).free = true);

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

async function launch() {
  browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
    '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']});
  return browser;
}

async function run(checks) {
  await launch();
  let failures = 0;
  for (const [name, check] of Object.entries(checks)) {
    const started = Date.now();
    try {
      await check();
      assert.deepEqual(faults.splice(0), []);
      console.log('ok    %s (%d ms)', name, Date.now() - started);
    } catch (error) {
      failures++;
      console.log('FAIL  %s\n%s', name, error.stack);
    }
    pages.forEach(({page}) => close(page));
  }
  assert.deepEqual(faults, []);
  await browser.close();
  process.exitCode = failures > 0 ? 1 : 0;
}

/* The browser ends with this process, too. */
const end = (error) => {
  console.error(error);
  process.exit(1);
};

module.exports = {addressOf, axe, faults, open, close, checksOf, launch, run, end};
