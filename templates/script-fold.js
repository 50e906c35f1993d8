/* Folding ranks of a timeline: of a folded rank one lane is left, where it computes, half as high. The page's own drawing is moved up to fill
   the room, so that canvas and drawing agree. */

class Folds {
  constructor(picture) {
    this.picture = picture;
    this.folded = new Set(); /* numbers of ranks */
    this.kept = new Map(); /* by rank: the lane that is left of it */
    this.full = picture.tracks.map((track) => ({...track}));
    this.order = this.full.map((_, i) => i).sort((a, b) => this.full[a].y - this.full[b].y); /* from the top; of several jobs lanes come job by job */
    this.height = picture.height;
    this.bottom = picture.bottom;
    this.find();
    this.names = new Map(picture.lanes.map(({rank, rankName}) => [rank, rankName]));
    this.buttons = new Map(picture.lanes.map(({rank, rankLabel, rankName}) => [rank, button('fold', rankLabel, 'Fold ' + rankName, () => this.toggle(rank))]));
    picture.layers.append(...this.buttons.values());
    this.apply();
  }

  /* The drawing's elements, by lane, as they stand at first. */
  find() {
    const {svg} = this.picture;
    const numbers = (mark) => mark.getAttribute('transform').match(/-?[\d.]+/g).map(Number);
    const at = (y) => this.full.findIndex((track) => y >= track.y && y <= track.y + track.height);
    this.rects = Array.from(svg.querySelectorAll('rect.track'));
    this.labels = Array.from(svg.querySelectorAll('text.muted'), (mark) => ({mark, y: Number(mark.getAttribute('y'))}))
      .map((label) => ({...label, lane: at(label.y)})).filter(({mark, lane}) => lane >= 0 && Number(mark.getAttribute('x')) < this.picture.left);
    const strong = Array.from(svg.querySelectorAll(':scope > text.strong'), (mark) => ({mark, y: Number(mark.getAttribute('y'))}));
    strong.forEach(({mark, y}) => mark.classList.toggle('rank', Number(mark.getAttribute('x')) === 0 && at(y) >= 0));
    /* Of several jobs a rank's name stands above its lanes. */
    this.headings = strong.filter(({mark, y}) => Number(mark.getAttribute('x')) === 0 && at(y) < 0 && y > this.picture.top - 10 && y < this.bottom)
      .map((heading) => ({...heading, lane: this.order.find((i) => this.full[i].y > heading.y)}));
    this.groups = Array.from(svg.querySelectorAll(':scope > g:not(.routes)'), (mark) => ({mark, place: numbers(mark)}))
      .map((group) => ({...group, lane: at(group.place[1])}));
    this.lines = Array.from(svg.querySelectorAll(':scope > line')).filter((mark) => Number(mark.getAttribute('y2')) >= this.bottom - 0.5);
    this.feet = Array.from(svg.querySelectorAll(':scope > text'), (mark) => ({mark, y: Number(mark.getAttribute('y'))})).filter(({y}) => y > this.bottom);
  }

  /* The lane that is left of a folded rank: the busiest that computes, or stream, or thread. */
  left(rank) {
    if (!this.kept.has(rank)) {
      const {lanes} = this.picture;
      const own = lanes.filter((lane) => lane.rank === rank);
      const streams = own.filter(({isStream}) => isStream);
      const computing = streams.filter(({label}) => label.includes(', compute'));
      const [choice] = [computing, streams, own].filter((list) => list.length > 0);
      const busy = ({times}) => times[SIMULATED].dur.reduce((sum, one) => sum + one, 0);
      this.kept.set(rank, lanes.indexOf(choice.reduce((best, lane) => (busy(lane) > busy(best) ? lane : best))));
    }
    return this.kept.get(rank);
  }

  toggle(rank, fold = !this.folded.has(rank)) {
    if (fold) {
      this.folded.add(rank);
    } else {
      this.folded.delete(rank);
    }
    this.apply();
    this.picture.say(this.names.get(rank).replace(/^r/, 'R') + (fold ? ' is folded' : ' is unfolded'));
    this.picture.draw();
  }

  /* Where every lane is now; hidden ones stand where their rank's row is, without height. */
  place() {
    const {lanes} = this.picture;
    let {y} = this.full[this.order[0]];
    let gap = 0;
    const made = [];
    this.order.forEach((i, n) => {
      const track = this.full[i];
      const {rank} = lanes[i];
      const before = this.full[this.order[n - 1]];
      gap = Math.max(gap, before ? track.y - before.y - before.height : 0);
      const hidden = this.folded.has(rank) && this.left(rank) !== i;
      const height = hidden ? 0 : this.folded.has(rank) ? track.height / 2 : track.height;
      made[i] = {...track, y: y + gap, height, hidden};
      if (!hidden) {
        y = made[i].y + height;
        gap = 0;
      }
    });
    return made;
  }

  apply() {
    const {picture} = this;
    const tracks = this.place();
    const shown = tracks.filter(({hidden}) => !hidden);
    picture.tracks = tracks.map((track, i) => {
      const {y, height} = tracks[this.left(picture.lanes[i].rank)];
      return track.hidden ? {...track, y, below: y + height} : track;
    });
    picture.bottom = Math.max(...shown.map(({y, height}) => y + height));
    picture.height = this.height + picture.bottom - this.bottom;
    this.move(picture.tracks);
    this.label();
  }

  move(tracks) {
    const {picture} = this;
    const by = picture.bottom - this.bottom;
    this.rects.forEach((rect, i) => {
      rect.setAttribute('y', tracks[i].y);
      rect.setAttribute('height', tracks[i].height);
    });
    for (const {mark, y, lane} of this.labels) {
      mark.setAttribute('y', tracks[lane].y + tracks[lane].height / 2 + y - this.full[lane].y - this.full[lane].height / 2);
      mark.classList.toggle('gone', tracks[lane].hidden);
    }
    for (const {mark, place: [x, y], lane} of this.groups) {
      const scale = tracks[lane].height / this.full[lane].height;
      mark.setAttribute('transform', 'translate(' + x + ' ' + (tracks[lane].y + (y - this.full[lane].y) * scale) + ') scale(1 ' + scale + ')');
      mark.classList.toggle('gone', tracks[lane].hidden);
    }
    this.headings.forEach(({mark, y, lane}) => mark.setAttribute('y', y + tracks[lane].y - this.full[lane].y));
    this.lines.forEach((line) => line.setAttribute('y2', picture.bottom));
    this.feet.forEach(({mark, y}) => mark.setAttribute('y', y + by));
    picture.svg.setAttribute('viewBox', '0 0 ' + picture.width + ' ' + picture.height);
    picture.svg.setAttribute('height', picture.height);
    picture.axis.svg.setAttribute('viewBox', '0 0 ' + picture.width + ' ' + picture.height);
  }

  /* A rank's button stands beside its first row. */
  label() {
    const {picture} = this;
    for (const [rank, made] of this.buttons) {
      const folded = this.folded.has(rank);
      const first = picture.tracks[folded ? this.left(rank) : picture.lanes.findIndex((lane) => lane.rank === rank)];
      made.style.top = 100 * (first.y + first.height / 2) / picture.height + '%';
      made.setAttribute('aria-expanded', String(!folded));
      made.setAttribute('aria-label', (folded ? 'Unfold ' : 'Fold ') + this.names.get(rank));
      made.title = made.getAttribute('aria-label');
    }
  }

  /* The task's rank, where it is folded. */
  reveal({lane}) {
    if (this.folded.has(lane.rank)) {
      this.toggle(lane.rank, false);
    }
  }
}
