/* The view in the address: "#t=65ms-77ms&task=1:6835" shows that span and pins that task, and is written when the view changes. Times count
   as the axis does. */

const TIME = /^(-?\d+(?:\.\d{1,9})?)(ns|us|\u00b5s|ms|s)$/;
const LINK_UNITS = {ns: 1, us: 1e3, '\u00b5s': 1e3, ms: 1e6, s: 1e9};

const LINK_DELAY = 300; /* ms */
let writing = 0; /* the browser's number of what is to be done then */

/* "65.12ms" in nanoseconds; NaN: it is no time. */
const readTime = (text) => {
  const match = TIME.exec(text);
  return match ? Math.round(Number(match[1]) * LINK_UNITS[match[2]]) : NaN;
};

/* Whole nanoseconds, exactly, in the largest unit that needs no more than six decimals. */
const writeTime = (time) => {
  const value = Math.round(time);
  const [unit, one] = Math.abs(value) >= 1e6 ? ['ms', 1e6] : Math.abs(value) >= 1e3 ? ['us', 1e3] : ['ns', 1];
  const whole = Math.floor(Math.abs(value) / one);
  const rest = String(Math.abs(value) % one).padStart(String(one).length - 1, '0').replace(/0+$/, '');
  return (value < 0 ? '-' : '') + whole + (one > 1 && rest ? '.' + rest : '') + unit;
};

/* {span, task} of an address; null: it is about something else. */
const readLink = (hash) => {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  if (!fields.has('t') && !fields.has('task')) {
    return null;
  }
  const [, ...ends] = /^(.*?s)-(.*)$/.exec(fields.get('t') || '') || [];
  const [from, until] = ends.map(readTime);
  return {span: until > from ? {from, until} : null, task: fields.has('task') ? taskNamed(fields.get('task')) : NONE};
};

/* Once the view stands still: browsers refuse to have the address changed at every turn of a wheel. */
const writeLink = (picture) => {
  clearTimeout(writing);
  writing = setTimeout(() => putLink(picture), LINK_DELAY);
};

const putLink = (picture) => {
  const {span} = picture.view;
  const parts = [];
  if (span) {
    parts.push('t=' + writeTime(span.from) + '-' + writeTime(span.until));
  }
  if (state.pinned !== NONE) {
    parts.push('task=' + taskOf(state.pinned).id);
  }
  if (parts.length > 0 || readLink(location.hash)) {
    history.replaceState(null, '', parts.length > 0 ? '#' + parts.join('&') : location.pathname + location.search);
  }
};

/* Go to a view that something on the page stands for, with a little of what is around it. */
const goToView = (view) => {
  const {span, task} = readLink(view);
  const [picture] = pictures;
  if (span) {
    const around = Math.max((span.until - span.from) / 4, LEAST_SPAN);
    picture.view.early = span.from < picture.view.whole.from;
    picture.view.go({from: span.from - around, until: span.until + around}, false);
  }
  if (task !== NONE) {
    show(task);
  }
  picture.region.scrollIntoView({block: 'nearest'});
  picture.region.focus({preventScroll: true});
};

/* Show what the address says. */
const followLink = () => {
  const link = pictures.length > 0 ? readLink(location.hash) : null;
  if (!link) {
    return;
  }
  const [picture] = pictures;
  if (link.task !== NONE) {
    show(link.task, false);
  }
  if (link.span) {
    picture.view.early = link.span.from < picture.view.whole.from;
    picture.view.go(link.span, false);
  }
  if (link.task === NONE) {
    picture.region.closest('section').scrollIntoView();
  }
};
