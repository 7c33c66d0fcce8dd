'use strict';
// Tables as CSV and pictures as SVG, written by the browser itself.

function saveFile(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type: type + ';charset=utf-8'}));
  element('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// "quick_resnet50-on-2xk80_agents.csv": report, problem where there are several, and what it is.
function fileName(what, ending) {
  const parts =
      [report.title, report.problems.length > 1 ? report.problems[shownProblem].title : ''];
  const plain = (text) => text.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^-+|-+$/g, '');
  return [...parts, what].map(plain).filter((part) => part).join('_').slice(0, 180) + '.' + ending;
}

// Rows of cells as text: RFC 4180. null is an empty cell.
function csvText(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return rows.map((row) => row.map(cell).join(',') + '\r\n').join('');
}

// A table as it is shown; heads with a name of their own (data-name) and cells with a number of
// their own (data-sort) give that.
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

// A picture as a file of its own: the page's styles are written into it, on the page's card.
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

// Buttons that save `what`, a name or a function that returns it. svg: returns a picture's text;
// csv: returns rows.
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
