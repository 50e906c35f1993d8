/* The pinned task: a panel below its picture tells of it until another is pinned, with buttons that lead from it to others. */

/* From a task to others: by key, and where there is a text, by a button. `to` answers with a number, NONE or NOT_EMBEDDED. */
const WAYS = [
  {key: 'ArrowLeft', text: '\u2190', label: 'The task before it on its lane',
    to: ({lane, number}) => (number > lane.first ? number - 1 : NONE)},
  {key: 'ArrowRight', text: '\u2192', label: 'The task after it on its lane',
    to: ({lane, number}) => (number + 1 < lane.first + lane.count ? number + 1 : NONE)},
  {key: 'c', text: 'Go to blocker', label: 'Go to blocker, the task that it waited for', to: (task) => causeOf(task)},
  {key: 'l', text: 'Go to launch', label: 'Go to launch: the call that launched it', to: (task) => task.call},
  {key: 'ArrowUp', to: (task) => onNextLane(task, -1)},
  {key: 'ArrowDown', to: (task) => onNextLane(task, 1)},
  {key: 'Home', to: ({lane}) => lane.first},
  {key: 'End', to: ({lane}) => lane.first + lane.count - 1},
];

/* The task on the next lane that has any, nearest in time. */
const onNextLane = ({lane, start, dur}, step) => {
  const {lanes} = job();
  let next = lane.number + step;
  while (next >= 0 && next < lanes.length && lanes[next].count === 0) {
    next += step;
  }
  return next >= 0 && next < lanes.length ? nearestTask(lanes[next], SIMULATED, start, start + dur, Infinity) : NONE;
};

/* Go to a task wherever it is drawn, and pin it; with `focus`, so that keys go on from there. */
const show = (number, focus = true) => {
  const picture = pictures.find((one) => one.holds(number));
  const folded = picture.region.closest('details');
  if (folded) {
    folded.open = true;
  }
  picture.folds.reveal(taskOf(number));
  picture.view.reveal(taskOf(number));
  pin(number, picture);
  if (focus && !picture.panel.contains(document.activeElement)) {
    picture.region.focus({preventScroll: true});
  }
};

/* Pin a task, or with NONE none, and say so in a picture. */
const pin = (number, picture) => {
  state.pinned = number;
  for (const one of pictures) {
    one.panel.hidden = one !== picture || number === NONE;
    one.draw();
  }
  picture.hint.hide();
  writeLink(picture);
  if (number === NONE) {
    picture.say('No task is pinned');
    return;
  }
  const task = taskOf(number);
  picture.panel.replaceChildren(pinTools(task, picture), ...describe(number, (other) => show(other)));
  const name = picture.panel.querySelector('.name');
  if (name.scrollHeight > name.clientHeight) {
    name.tabIndex = 0; /* so that PageDown and Space scroll what is longer than its room */
  }
  picture.say(announce(number));
  uncover(task, picture);
};

const unpin = (picture) => {
  pin(NONE, picture);
  picture.region.focus({preventScroll: true});
};

/* The nearest to the middle of what is shown, on the uppermost lane that has a task there. */
const pinMiddle = (picture) => {
  const {from, until} = picture.view.shown;
  const middle = (from + until) / 2;
  const [number] = picture.lanes.map((lane) => nearestTask(lane, SIMULATED, middle, middle, (until - from) / 2))
    .filter((one) => one !== NONE);
  if (number === undefined) {
    picture.say('No task of this page runs here');
  } else {
    show(number);
  }
};

const pinTools = (task, picture) => {
  const act = (text, label, key, press, able) => {
    const made = button('', text, label, press);
    made.setAttribute('aria-keyshortcuts', key);
    made.disabled = !able;
    return made;
  };
  return toolbar('From this task',
    ...WAYS.filter(({text}) => text).map(({text, label, key, to}) => act(text, label, key, () => show(to(task)), to(task) >= 0)),
    act('Zoom to task', 'Zoom to task: it fills a fifth of the picture', 'z', () => picture.view.close(task), true),
    act('\u00d7', 'Close', 'Escape', () => unpin(picture), true));
};

/* What keys do while a task is pinned. */
const pinKeys = (task, picture) => {
  const actions = {z: () => picture.view.close(task), Escape: () => unpin(picture)};
  for (const {key, to} of WAYS) {
    actions[key] = () => {
      const number = to(task);
      if (number >= 0) {
        show(number);
      } else {
        picture.say(number === NOT_EMBEDDED ? 'It is not on this page one by one' : 'There is none');
      }
    };
  }
  return actions;
};

/* Scroll until the task stands between the window's top and the panel, and within the picture's frame where that is narrower than the
   picture. */
const uncover = (task, picture) => {
  const {view, region} = picture;
  const {canvas} = picture.painter;
  const {from, until} = view.goal || view.whole;
  const middle = between((task.start + task.dur / 2 - from) / (until - from), 0, 1);
  const x = canvas.offsetLeft + middle * canvas.offsetWidth;
  if (x < region.scrollLeft + 40 || x > region.scrollLeft + region.clientWidth - 40) {
    region.scrollLeft = x - region.clientWidth / 2;
  }
  const box = canvas.getBoundingClientRect();
  const y = box.top + picture.trackOf(task).y * box.height / picture.height;
  const least = 60;
  const most = Math.max(innerHeight - picture.panel.offsetHeight - 60, least);
  if (y < least || y > most) {
    scrollBy({top: y - between(y, least, most), behavior: calm() ? 'auto' : 'smooth'});
  }
};
