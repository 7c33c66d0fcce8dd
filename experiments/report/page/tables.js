'use strict';
// Tables that scroll where they are too wide, are sorted by a click on a head, and can be saved.

// A cell of a number, shown as `text` (or elements); `value` sorts it and goes into the CSV file.
function numberCell(value, text, attributes) {
  return element('td', {...attributes, 'data-sort': value === null ? undefined : value}, text);
}

// `head`: its cells, or texts; `rows`: lines, or lists of a line and those that belong to it.
// `attributes` may have "csv", which returns rows for the file, and "save", what the file is of.
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
      'div',
      {class: 'table'},
      box,
      element('div', {class: 'under'}, saveButtons(what, {csv: csv || (() => csvOfTable(table))})));
}

// The number of a cell that has one beside its text.
const numberOf = ({dataset}) => dataset.sort ?? dataset.measured ?? dataset.simulated;

// A button in the head; pressed again it turns the order round.
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

// Numbers by size, texts by letter; cells without either come last in both orders.
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
