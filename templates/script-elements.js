/* Elements and data: the page's elements are made here and only here. Names from traces only ever become text, never markup. */

/* A value that is made when it is first asked for. */
const once = (make) => {
  let value;
  return () => (value = value === undefined ? make() : value);
};

/* The JSON that a script element of the page holds. */
const embedded = (id) => JSON.parse(document.getElementById(id).textContent);

/* An element with a class, attributes, and children: elements or texts. */
const create = (name, css, attributes, ...children) => {
  const element = document.createElement(name);
  element.className = css;
  for (const key of Object.keys(attributes)) {
    element.setAttribute(key, attributes[key]);
  }
  element.append(...children);
  return element;
};

const button = (css, text, label, press) => {
  const element = create('button', css, {type: 'button'}, text);
  if (label !== text) {
    element.setAttribute('aria-label', label);
    element.title = label;
  }
  element.addEventListener('click', press);
  return element;
};

const toolbar = (label, ...children) => create('div', 'tools', {role: 'toolbar', 'aria-label': label}, ...children);

const between = (value, least, most) => Math.max(least, Math.min(most, value));

/* The reader wants no motion. */
const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/* What the wheel turns by is told in pixels or in lines. */
const wheelPixels = (event, delta) => delta * (event.deltaMode === 1 ? 16 : 1);

/* By how much a turn of the wheel makes things smaller; below 1: larger. */
const wheelFactor = (event) => Math.exp(between(wheelPixels(event, event.deltaY), -200, 200) * 0.004);

/* Do what belongs to a key, unless a modifier makes it somebody else's: {'+': () => ...}. */
const runKey = (event, actions) => {
  if (!event.altKey && !event.ctrlKey && !event.metaKey && Object.hasOwn(actions, event.key)) {
    event.preventDefault();
    actions[event.key]();
  }
};
