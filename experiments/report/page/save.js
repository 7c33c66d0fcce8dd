'use strict';
// Tables as CSV and pictures as SVG, written by the browser.

function saveFile(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type: type + ';charset=utf-8'}));
  element('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// Returns "quick_resnet50-on-2xk80_agents.csv": report, problem (if there are several), and
// content.
function fileName(what, ending) {
  const parts =
      [report.title, report.problems.length > 1 ? report.problems[shownProblem].title : ''];
  const plain = (text) => text.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^-+|-+$/g, '');
  return [...parts, what].map(plain).filter((part) => part).join('_').slice(0, 180) + '.' + ending;
}

// Returns rows of cells as text: RFC 4180. null is an empty cell.
function csvText(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return rows.map((row) => row.map(cell).join(',') + '\r\n').join('');
}

// Returns a table as shown. Heads with a name (data-name) and cells with a number (data-sort) use
// these instead of their text.
function csvOfTable(table) {
  const text = (cell) => cell.dataset.name ?? numberOf(cell) ?? cell.textContent.trim();
  const rows = [...table.rows].filter((row) => !row.classList.contains('numbers'));
  return rows.map((row) => [...row.cells].map(text));
}

const SVG_STYLES = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-opacity',
  'opacity',
  'font-family',
  'font-size',
  'font-weight',
  'text-anchor',
  'display',
  'shape-rendering'
];

// Returns a picture as a separate file that includes the page's styles and the card.
function svgText(svg) {
  const copy = svg.cloneNode(true), shown = [svg, ...svg.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((node, i) => {
    const style = getComputedStyle(shown[i]);
    node.setAttribute('style', SVG_STYLES.map((name) => `${name}:${style[name]}`).join(';'));
  });
  const [x, y, width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  const card = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [key, value] of Object.entries({x, y, width, height, fill: Colours.css('card')}))
    card.setAttribute(key, value);
  copy.prepend(card);
  return new XMLSerializer().serializeToString(copy);
}

// Returns buttons that save a file. what: its name, or a function that returns it; svg: returns the
// text of a picture; csv: returns rows.
function saveButtons(what, {svg, csv}) {
  const name = () => (typeof what === 'function' ? what() : what);
  const button = (ending, save) => element(
      'button', {class: 'save', 'data-ending': ending, onclick: save}, ending.toUpperCase());
  return element(
      'span',
      {class: 'saves'},
      'save ',
      csv ? button('csv', () => saveFile(fileName(name(), 'csv'), 'text/csv', csvText(csv()))) :
            null,
      svg ? button('svg', () => saveFile(fileName(name(), 'svg'), 'image/svg+xml', svg())) : null);
}

// Returns the line below a picture or table: a note, or null, and buttons as of saveButtons().
function caption(note, what, files) {
  return element(
      'div',
      {class: 'under'},
      note === null ? null : element('span', {class: 'note'}, note),
      saveButtons(what, files));
}
