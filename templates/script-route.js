/* The critical path in true time, painted on a canvas: a line in the gap above the lane that it is on, with an arrow where it changes lanes and
   a word for why where there is room. Legs shorter than six pixels are drawn together, where most of their time is. */

const TOGETHER = 6;
const ABOVE = 3.5;
const HEAD = 4;
const WORD_MARGIN = 10;

class RoutePainter {
  constructor(painter) {
    this.context = painter.context;
    this.picture = painter.picture;
  }

  paint() {
    const {context, picture: {view}} = this;
    this.picture.arrows = []; /* where the pointer finds them: {x, top, bottom, from, to, hold, time} */
    const {from, until} = view.shown;
    context.save();
    context.strokeStyle = context.fillStyle = colourOf('route');
    context.lineWidth = 1.8;
    context.font = '10px ' + colourOf('sans');
    context.textBaseline = 'alphabetic';
    for (const route of job().routes) {
      if (route.start < until && route.end > from) {
        this.paintStays(this.stays(route, from, until));
      }
    }
    context.restore();
  }

  /* Above a lane; below the row of a folded rank, where the lane is not the one that is left of it; outside the recording, below the lanes
     of the rank that it was on; where the path is on none of this picture, below all of them. */
  heightOf(lane, near) {
    const place = near - this.picture.firstLane;
    if (lane < 0 && this.picture.tracks[place]) {
      const {lanes, tracks} = this.picture;
      return Math.max(...tracks.filter((track, i) => lanes[i].rank === lanes[place].rank && !track.hidden)
        .map(({y, height}) => y + height)) + ABOVE - 1;
    }
    const track = this.picture.tracks[lane - this.picture.firstLane];
    if (lane >= 0 && track && track.hidden) {
      return track.below + ABOVE;
    }
    return (lane >= 0 && track ? track.y : this.picture.bottom + 6) - ABOVE;
  }

  /* Pieces of the picture: {left, right, y, hold, lane, last, begin}; last: the lane at its end. */
  stays({start, lanes, ends, holds}, from, until) {
    const {view} = this.picture;
    const stays = [];
    let near = lanes.find((lane) => lane >= 0);
    const add = (left, right, lane, hold, begin) => {
      const last = stays[stays.length - 1];
      near = lane >= 0 ? lane : near;
      const y = this.heightOf(lane, near);
      if (last && last.y === y) {
        last.right = right;
        last.last = lane;
      } else {
        stays.push({left, right, y, hold, lane, last: lane, begin});
      }
    };
    let gathered = null; /* {left, times, hold, begin} of legs that are drawn together */
    const flush = (right) => {
      const last = stays[stays.length - 1];
      if (gathered && last && right - gathered.left < TOGETHER) { /* too narrow to be seen between others */
        last.right = right;
        gathered = null;
      }
      if (gathered) {
        const [lane] = Array.from(gathered.times).reduce((best, one) => (one[1] > best[1] ? one : best));
        add(gathered.left, right, lane, gathered.hold, gathered.begin);
        gathered = null;
      }
    };
    for (let i = firstAbove(ends, from, (end) => end); i < ends.length && (i === 0 ? start : ends[i - 1]) < until; i++) {
      const begin = i === 0 ? start : ends[i - 1];
      const left = between(view.placeOf(begin), -BEYOND, view.width + BEYOND);
      const right = between(view.placeOf(ends[i]), -BEYOND, view.width + BEYOND);
      if (right - left >= TOGETHER) {
        flush(left);
        add(left, right, lanes[i], holds[i], begin);
        continue;
      }
      gathered = gathered || {left, times: new Map(), hold: holds[i], begin};
      gathered.times.set(lanes[i], (gathered.times.get(lanes[i]) || 0) + ends[i] - begin);
      if (right - gathered.left >= TOGETHER) {
        flush(right);
      }
    }
    flush(gathered ? view.placeOf(Math.min(until, ends[ends.length - 1])) : 0);
    return stays;
  }

  paintStays(stays) {
    const {context} = this;
    context.beginPath();
    stays.forEach(({left, right, y}, i) => {
      if (i === 0) {
        context.moveTo(left, y);
      } else {
        context.lineTo(left, y);
      }
      context.lineTo(right, y);
    });
    context.stroke();
    stays.forEach((stay, i) => {
      if (i > 0 && Math.min(stay.right - stay.left, stays[i - 1].right - stays[i - 1].left) >= HEAD) {
        this.paintHead(stay, stays[i - 1]);
      }
    });
  }

  paintHead({left, right, y, hold, lane, begin}, before) {
    const {context, picture: {view, arrows}} = this;
    arrows.push({x: left, top: Math.min(y, before.y), bottom: Math.max(y, before.y), from: before.last, to: lane, hold, time: begin});
    const back = y > before.y ? y - 1.6 * HEAD : y + 1.6 * HEAD;
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(left - HEAD * 0.75, back);
    context.lineTo(left + HEAD * 0.75, back);
    context.fill();
    const [kind] = job().holds[hold];
    if (Math.min(right, view.width) - left >= context.measureText(kind).width + WORD_MARGIN && before.right - before.left >= HEAD && left >= 0) {
      this.paintWord(kind, left + 5, (y + before.y) / 2 + 6);
    }
  }

  /* On a piece of paper, for there may be bars. */
  paintWord(word, x, y) {
    const {context} = this;
    const {width} = context.measureText(word);
    context.globalAlpha = 0.85;
    context.fillStyle = colourOf('paper');
    context.fillRect(x - 2, y - 9, width + 4, 12);
    context.globalAlpha = 1;
    context.fillStyle = colourOf('route');
    context.fillText(word, x, y);
  }
}
