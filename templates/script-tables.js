/* Tables sort, filter, unfold, and leave as text, by the values that the page embeds (lumos-summary), not by how they are written. */

const summary = once(() => embedded('lumos-summary'));

/* Numbers as numbers, names in the order of their letters and numbers; what is unknown comes last. */
const collator = new Intl.Collator('en', {numeric: true});

const compare = (a, b, direction) => {
  if (a === null || b === null) {
    return (a === null) - (b === null);
  }
  return direction * (typeof a === 'number' ? a - b : collator.compare(a, b));
};

/* What a value is divided by where its column has that unit: times are embedded in ns, shares as fractions. */
const DIVISORS = {ms: 1e6, '\u00b5s': 1e3, '%': 0.01};

/* A cell of a CSV file. No cell of a name is a formula, whatever opens the file. */
const quoted = (text) => {
  const plain = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\n\r]/.test(plain) || plain !== text ? '"' + plain.replace(/"/g, '""') + '"' : plain;
};

/* Where there is no clipboard for scripts, as in a page that came without https, the selection goes there. */
const copyText = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = create('textarea', 'unseen', {'aria-hidden': 'true'});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
};

const saveText = (name, type, text) => {
  const link = create('a', '', {download: name, href: URL.createObjectURL(new Blob([text], {type}))});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

class Table {
  constructor(table) {
    this.name = table.getAttribute('aria-labelledby').replace('table-', '');
    this.headings = Array.from(table.tHead.rows[0].cells);
    this.titles = this.headings.map((heading) => heading.textContent.trim().replace(/\s+/g, ' '));
    this.units = this.headings.map((heading) => heading.querySelector('small')?.textContent);
    this.body = table.tBodies[0];
    this.join();
    this.rows = Array.from(this.body.rows);
    this.order = this.groups;
    this.headings.forEach((heading, column) => {
      heading.append(' ', button('sort', '', 'Sort by ' + this.titles[column], () => this.press(column)));
    });
    this.addTools(table.closest('.scroll'));
    this.show();
  }

  /* The folded rows come into the table, and a button stands where they were. */
  join() {
    const details = document.querySelector('[data-more="' + this.name + '"]');
    this.open = this.body.rows.length;
    if (details) {
      this.body.append(...details.querySelector('tbody').rows);
      this.more = button('more', '', '', () => {
        this.unfolded = !this.unfolded;
        this.show();
      });
      details.replaceWith(this.more);
    }
  }

  addTools(region) {
    this.filter = create('input', '', {type: 'search', placeholder: 'Filter', 'aria-label': 'Filter the rows'});
    this.filter.addEventListener('input', () => this.show());
    this.told = create('span', 'span', {'aria-live': 'polite'});
    const copy = button('', 'Copy', 'Copy the rows, parted by tabs', () => this.copy(copy));
    const save = button('', 'CSV', 'Download the rows as CSV', () => saveText(this.name + '.csv', 'text/csv', this.text(',', quoted)));
    const named = this.headings.some((_, column) => typeof this.value(0, column) === 'string');
    region.before(create('div', 'tools rows', {role: 'group', 'aria-label': 'This table'}, ...(named ? [this.filter] : []), copy, save, this.told));
  }

  async copy(pressed) {
    await copyText(this.text('\t', (text) => text.replace(/[\t\n\r]/g, ' ')));
    pressed.textContent = 'Copied';
    setTimeout(() => (pressed.textContent = 'Copy'), 1500);
  }

  /* What a cell holds, from the embedded numbers; of a kind with a colour, what it is called. */
  value(row, column) {
    const cell = this.rows[row].cells[column];
    return cell.classList.contains('swatch') ? cell.textContent : summary().tables[this.name].rows[row][column];
  }

  /* The same in the unit of its column; digits that a division makes up are left out. */
  written(row, column) {
    const value = this.value(row, column);
    return value === null ? '' : String(typeof value === 'number' ? Number((value / (DIVISORS[this.units[column]] ?? 1)).toPrecision(15)) : value);
  }

  /* The rows that the filter leaves, in the order of the page. */
  text(separator, write) {
    const lines = this.order.flat().filter((row) => this.fits(row)).map((row) => this.headings.map((_, column) => write(this.written(row, column))));
    return [this.titles.map(write), ...lines].map((cells) => cells.join(separator) + '\n').join('');
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

  fits(row) {
    const wanted = this.filter.value.trim().toLowerCase();
    const texts = this.headings.map((_, column) => this.value(row, column)).filter((value) => typeof value === 'string');
    return wanted === '' || texts.some((text) => text.toLowerCase().includes(wanted));
  }

  /* Of the rows that fit the first ones, unless the reader wants all or looks for some. */
  show() {
    const searched = this.filter.value.trim() !== '';
    let shown = 0;
    for (const group of this.order) {
      const fits = group.some((row) => this.fits(row));
      const hidden = !fits || (!searched && !this.unfolded && shown >= this.open);
      group.forEach((row) => (this.rows[row].hidden = hidden));
      shown += fits ? group.length : 0;
    }
    this.told.textContent = searched ? formatCount(shown) + ' of ' + formatCount(this.rows.length) + ' rows' : '';
    if (this.more) {
      this.more.hidden = searched;
      this.more.textContent = this.unfolded ? 'Show the first ' + this.open : 'Show all ' + formatCount(this.rows.length);
    }
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
    this.order = this.groups;
    if (order) {
      heading.setAttribute('aria-sort', order);
      this.order.sort((a, b) => compare(this.value(a[0], column), this.value(b[0], column), order === 'ascending' ? 1 : -1));
    }
    this.body.append(...this.order.flat().map((row) => this.rows[row]));
    this.show();
  }
}
