/* The columns of the page's own drawing: they stand for all tasks of a lane, also for those that are not on the page one by one, and each
   path of them tells in words what it adds up. */

/* The cells of a path: "M12 0h3v-9h-3z" is 3 columns wide from 12 on, and stands 9 high. */
const readPath = (path) => {
  const cells = [];
  for (const [, x, width, height] of path.getAttribute('d').matchAll(/M(-?\d+) 0h(\d+)v(-?\d+)h-\d+z/g)) {
    cells.push({x: Number(x), width: Number(width), height: -Number(height)}); /* above 0: it stands, below: it hangs */
  }
  const pattern = path.getAttribute('fill'); /* "url(#timeline-sync)" */
  return {css: pattern ? pattern.replace(/^url\(#[a-z]*-(.*)\)$/, '$1') : path.classList[0], told: path.textContent, cells};
};

/* The paths of every lane. */
const readColumns = (svg) => Array.from(svg.querySelectorAll('g:not(.marks, .routes)'), (lane) => Array.from(lane.querySelectorAll('path'), readPath));

/* What a lane tells of a kind, or with '' of the kind that fills the column at a point: ", simulated: GEMM, 1.20 ms in 31 tasks".
   '' where nothing is told. */
const toldAt = (picture, point, kind) => {
  const at = picture.laneAt(point);
  if (!at) {
    return '';
  }
  const {view} = picture;
  const {from, until} = view.whole;
  const x = (view.timeOf(point.x) - from) / (until - from) * view.width;
  const fits = (css, cell) => cell.height < 0 === (at.timeline === MEASURED) &&
    (kind ? css === kind : x >= cell.x && x < cell.x + cell.width);
  const path = picture.columns()[at.place].find(({css, cells}) => cells.some((cell) => fits(css, cell)));
  return path ? path.told.slice(at.lane.label.length) : '';
};
