/* What starts everything, when all the other files are there. Nothing that a reader needs is missing where it does not run. */

const startTimelines = () => {
  let lanes = 0;
  for (const region of document.querySelectorAll('[data-picture="timeline"]')) {
    const tracks = region.querySelectorAll('rect.track').length;
    if (tracks > 0) {
      pictures.push(new Timeline(region, lanes));
      lanes += tracks;
    }
  }
  for (const box of document.querySelectorAll('#marks, #path')) {
    box.addEventListener('change', () => pictures.forEach((picture) => picture.draw()));
  }
  addEventListener('hashchange', followLink);
  followLink();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    forgetColours();
    pictures.forEach((picture) => picture.draw());
  });
};

const startTables = () => {
  for (const table of document.querySelectorAll('table[aria-labelledby^="table-"]')) {
    if (table.tBodies[0].rows.length > 1) {
      new Table(table);
    }
  }
};

/* A template of somebody's own may leave the data out. */
if (document.getElementById('lumos-tasks')) {
  startTimelines();
}
if (document.getElementById('lumos-summary')) {
  startTables();
}
document.querySelectorAll('[data-picture="graph"]').forEach((region) => new Sheet(region));
new Terms();
addEventListener('hashchange', unfoldTarget);
unfoldTarget();
