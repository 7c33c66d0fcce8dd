'use strict';
// Tables that scroll if they are too wide, are sorted by a click on a head, and can be saved.

// Returns the cell of a number, shown as `text` (or elements); `value` is for sorting and for the
// CSV file.
function numberCell(value, text, attributes) {
  return element('td', {...attributes, 'data-sort': value === null ? undefined : value}, text);
}

// Makes a table. head: its cells, or texts; rows: lines, or lists of a line and the lines that
// belong to it; csv: returns rows for the file; save: name of the file's content.
function scrollTable({csv, save, ...attributes}, head, rows) {
  const cells = head.map((cell) => typeof cell === 'string' ? element('th', {}, cell) : cell);
  const table = element(
      'table',
      attributes,
      element('thead', {}, element('tr', {}, cells)),
      element('tbody', {}, rows.flat()));
  const groups = rows.map((row) => [row].flat());
  cells.forEach((cell, column) => makeSortable(table, cell, column, groups));
  const box =
      element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'table'}, table);
  const markEnds = () => {
    box.classList.toggle('more-left', box.scrollLeft > 1);
    box.classList.toggle('more-right', box.scrollLeft < box.scrollWidth - box.clientWidth - 1);
  };
  box.addEventListener('scroll', markEnds);
  new ResizeObserver(markEnds).observe(box);
  const what = () => save || attributes.id || box.closest('section').id;
  return element(
      'div', {class: 'table'}, box, caption(null, what, {csv: csv || (() => csvOfTable(table))}));
}

// Returns the number of a cell that has one in addition to its text.
const numberOf = ({dataset}) => dataset.sort ?? dataset.measured ?? dataset.simulated;

// Makes the head a button; a second click reverses the order.
function makeSortable(table, cell, column, groups) {
  const button = element('button', {class: 'sort'}, [...cell.childNodes]);
  cell.replaceChildren(button);
  cell.setAttribute('aria-sort', 'none');
  button.addEventListener('click', () => {
    const down = cell.getAttribute('aria-sort') === 'ascending';
    for (const other of cell.parentNode.cells) other.setAttribute('aria-sort', 'none');
    cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    table.tBodies[0].append(
        ...groups.slice().sort((a, b) => compareCells(a, b, column, down)).flat());
  });
}

// Compares numbers by size and texts by letter; cells without either come last in both orders.
function compareCells(a, b, column, down) {
  const value = ([row]) => {
    const cell = row.cells[column];
    const number = numberOf(cell);
    if (number !== undefined) return +number;
    const text = cell.textContent.trim();
    return text === '–' || text === '' || text === 'failed' || cell.classList.contains('oom') ?
        null :
        text;
  };
  const [x, y] = [value(a), value(b)];
  if (x === null || y === null) return (x === null) - (y === null);
  const order = typeof x === 'number' && typeof y === 'number' ?
      x - y :
      String(x).localeCompare(String(y), undefined, {numeric: true});
  return down ? -order : order;
}
