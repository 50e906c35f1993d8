/* Searching tasks by name, op or module, among those that the page holds one by one, in order of time. */

const search = {names: new Set(), found: [], place: NONE}; /* numbers of names; of tasks; which of these was gone to */

/* All tasks of a name that contains the words, by start. */
const findTasks = (words) => {
  const {lanes, names, texts} = job();
  const wanted = words.trim().toLowerCase();
  const plain = (text) => text.replace(/[_ -]/g, ''); /* all_reduce is AllReduce in a kernel's name */
  const hits = texts.map((text) => text.toLowerCase()).map((text) => text.includes(wanted) || (plain(wanted) !== '' && plain(text).includes(plain(wanted))));
  search.names = new Set();
  search.found = [];
  search.place = NONE;
  if (wanted === '') {
    return;
  }
  names.forEach(([, name, op, module], number) => {
    if (hits[name] || hits[op] || hits[module]) {
      search.names.add(number);
    }
  });
  const starts = [];
  for (const lane of lanes) {
    for (let i = 0; i < lane.count; i++) {
      if (search.names.has(lane.names[i])) {
        starts.push([lane.times[SIMULATED].start[i], lane.first + i]);
      }
    }
  }
  starts.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  search.found = starts.map(([, number]) => number);
};

class SearchBox {
  constructor(picture) {
    this.picture = picture;
    this.input = create('input', 'search', {type: 'search', placeholder: 'Find op or kernel', 'aria-label': 'Find tasks by name', spellcheck: 'false'});
    this.count = create('output', 'found', {'aria-live': 'polite'});
    this.element = create('span', 'find', {role: 'search'}, this.input,
      button('', '\u2191', 'Find previous', () => this.step(-1)), button('', '\u2193', 'Find next', () => this.step(1)), this.count);
    this.input.addEventListener('input', () => this.find());
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        this.step(event.shiftKey ? -1 : 1);
      }
    });
  }

  find() {
    findTasks(this.input.value);
    this.tell();
    pictures.forEach((one) => one.draw());
  }

  /* "3 of 128" */
  tell() {
    const {found, place} = search;
    this.count.textContent = this.input.value.trim() === '' ? '' : found.length === 0 ? 'none on this page' :
      place === NONE ? formatCount(found.length) + ' found' : formatCount(place + 1) + ' of ' + formatCount(found.length);
  }

  /* The first time to the one nearest after what is pinned, or shown. */
  step(by) {
    const {found} = search;
    if (found.length === 0) {
      return;
    }
    if (search.place === NONE) {
      const from = state.pinned === NONE ? this.picture.view.shown.from : taskOf(state.pinned).start;
      const next = found.findIndex((number) => taskOf(number).start >= from);
      search.place = by > 0 ? Math.max(next, 0) : ((next < 0 ? found.length : next) - 1 + found.length) % found.length;
    } else {
      search.place = (search.place + by + found.length) % found.length;
    }
    show(found[search.place], false);
    this.tell();
  }
}
