/* Tables sort by the values that the page embeds (lumos-summary), not by how they are written. */

const summary = once(() => embedded('lumos-summary'));

/* Numbers as numbers, names in the order of their letters and numbers; what is unknown comes last. */
const collator = new Intl.Collator('en', {numeric: true});

const compare = (a, b, direction) => {
  if (a === null || b === null) {
    return (a === null) - (b === null);
  }
  return direction * (typeof a === 'number' ? a - b : collator.compare(a, b));
};

class Table {
  constructor(table) {
    this.name = table.getAttribute('aria-labelledby').replace('table-', '');
    this.headings = Array.from(table.tHead.rows[0].cells);
    this.body = table.tBodies[0];
    this.rows = Array.from(this.body.rows);
    this.headings.forEach((heading, column) => {
      const label = 'Sort by ' + heading.textContent.trim().replace(/\s+/g, ' ');
      heading.append(' ', button('sort', '', label, () => this.press(column)));
    });
  }

  /* What a cell holds, from the embedded numbers; of a kind with a colour, what it is called. */
  value(row, column) {
    const cell = this.rows[row].cells[column];
    return cell.classList.contains('swatch') ? cell.textContent : summary().tables[this.name].rows[row][column];
  }

  /* A row that continues the one above it moves with it. */
  get groups() {
    const groups = [];
    this.rows.forEach((row, i) => {
      if (row.classList.contains('again')) {
        groups[groups.length - 1].push(i);
      } else {
        groups.push([i]);
      }
    });
    return groups;
  }

  /* Numbers begin with the largest, names with the first; a second time turns the order round, a third brings the page's own back. */
  press(column) {
    const heading = this.headings[column];
    const numeric = this.rows.some((_, row) => typeof this.value(row, column) === 'number');
    const first = numeric ? 'descending' : 'ascending';
    const second = numeric ? 'ascending' : 'descending';
    const old = heading.getAttribute('aria-sort');
    const order = old === first ? second : old === second ? null : first;
    for (const other of this.headings) {
      other.removeAttribute('aria-sort');
    }
    const groups = this.groups;
    if (order) {
      heading.setAttribute('aria-sort', order);
      groups.sort((a, b) => compare(this.value(a[0], column), this.value(b[0], column), order === 'ascending' ? 1 : -1));
    }
    this.body.append(...groups.flat().map((row) => this.rows[row]));
  }
}
