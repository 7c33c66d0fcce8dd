'use strict';
// The table of the sweep's layout, and the claims of a paper.

// Returns whether the numbers of a column have their own units, from milliseconds to days.
function isDuration({unit, value}) { return unit === 'h' || value === 'seconds'; }

function durationText(value, unit) {
  const seconds = unit === 'h' ? 3600 * value : value;
  return Math.abs(seconds) < 1 ? Format.time(1e9 * seconds) : Format.duration(seconds);
}

// Returns four significant digits; counts are unchanged.
function tableNumber(value, unit) {
  if (typeof value !== 'number') return value === '-inf' ? '-∞' : '∞';
  if (unit === 'count') return Format.count(Math.round(value));
  return value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4) ?
      value.toExponential(3) :
      Math.abs(value) >= 1000 ? value.toFixed(0) :
                                value.toPrecision(4);
}

function cellText(cell, column) {
  switch (cell.state) {
    case 'number': {
      const text = (value) => isDuration(column) && typeof value === 'number' ?
          durationText(value, column.unit) :
          tableNumber(value, column.unit);
      const ends =
          cell.low === null || cell.low === undefined ? [] : [cell.low, cell.high].map(text);
      return text(cell.median) + (column.unit === 'percent' ? ' %' : '') +
          (ends.some((end) => end !== text(cell.median)) ? ` [${ends.join(' .. ')}]` : '');
    }
    case 'oom':
      return 'OOM';
    case 'undefined':
      return '–';
    default:
      return cell.state;
  }
}

function showTable() {
  const table = report.table;
  if (!table) return;
  const unit = ({unit}) =>
      unit === 'ratio' || unit === 'count' ? '' : ` [${unit === 'percent' ? '%' : unit}]`;
  const head = [
    ...[...table.heads, 'source'].map((text) => element('th', {class: 'text'}, text)),
    ...table.columns.map((column) => column.label + (isDuration(column) ? '' : unit(column))),
  ];
  const rows = table.rows.map((row) => {
    const heads = row.heads.map((text) => element('td', {class: 'text head'}, text));
    const cells = table.columns.map((column) => {
      const cell = row.cells[column.name];
      const few = cell.seeds > cell.fitting && cell.fitting > 0 ?
          ` (${cell.fitting} of ${cell.seeds} fit)` :
          '';
      return element(
          'td',
          {
            class: cell.state === 'oom' ? 'oom' : '',
            'data-state': cell.state,
            'data-value': cell.median,
            'data-sort': cell.state === 'number' && typeof cell.median === 'number' ? cell.median :
                                                                                      undefined,
          },
          cellText(cell, column) + few);
    });
    const lines =
        [element('tr', {}, heads, element('td', {class: 'text head'}, 'simulated'), cells)];
    if (table.columns.some((column) => row.cells[column.name].published)) {
      const mark = table.published && table.published.confidence;
      lines.push(element(
          'tr',
          {class: 'published'},
          row.heads.map(() => element('td')),
          element('td', {class: 'text head'}, 'published' + (mark ? ` [${mark}]` : '')),
          table.columns.map((column) => {
            const number = row.cells[column.name].published;
            if (!number) return element('td');
            const own =
                number.confidence && number.confidence !== mark ? ` [${number.confidence}]` : '';
            return element(
                'td',
                {},
                (number.state === 'oom' ? 'OOM' :
                                          number.value + (column.unit === 'percent' ? ' %' : '')) +
                    own);
          })));
    }
    return lines;
  });
  const csv = () => [
      [...table.heads, ...table.columns.map((column) => column.label + unit(column))],
      ...table.rows.map((row) => [...row.heads, ...table.columns.map((column) => {
                          const cell = row.cells[column.name];
                          return cell.state === 'number' ? cell.median : cell.state;
                        })])];
  fill(
      'table',
      element('h2', {}, table.title || 'Table'),
      scrollTable({csv}, head, rows),
      ...table.legend.map((sentence) => element('p', {class: 'note'}, sentence)))
      .hidden = false;
  document.querySelector('nav a[href="#table"]').hidden = false;
  if (table.claims.length) showClaims(table);
}

// Returns the possible result of the method in a row in which the claim does not hold.
function claimPossible(row, show) {
  if (row.verdict === 'holds' || !row.possible) return '';
  return `; best known: ${show(row.best_known)}, bound: ${show(row.at_bound)}: ${row.possible}`;
}

// Returns both sides of the comparison in each row of the claim, collapsed.
function claimNumbers(table, claim) {
  const side = (value) => value === null ? '–' : tableNumber(value);
  const operator = claim.holds.match(/[<>]=?/)[0];
  const rows = claim.rows.map((row) => {
    const name = table.rows[row.row].heads.join(', ');
    return element(
        'li',
        {class: row.verdict.split(' ')[0]},
        row.verdict === 'open' ?
            `${name}: open (${row.missing.join(', ')} not run)` :
            `${name}: ${side(row.left)} ${operator} ${side(row.right)} ${row.verdict}` +
                claimPossible(row, (pair) => pair.map(side).join(` ${operator} `)));
  });
  return element('details', {}, element('summary', {}, 'row by row'), element('ul', {}, rows));
}

// Returns "98.2 % of 3 seeds": the share of resamples in which a claim holds, and the number of
// seeds.
function claimShare({share, seeds}) {
  if (share === null) return '–';
  if (seeds === null) return Format.percent(share);
  const [least, most] = seeds;
  return `${Format.percent(share)} of ${least === most ? most : `${least} to ${most}`} seed${
      most === 1 ? '' : 's'}`;
}

function showClaims(table) {
  const lines = table.claims.map(
      (claim) =>
          [element(
               'tr',
               {'data-verdict': claim.verdict},
               element('td', {class: 'text'}, `${claim.text} [${claim.confidence}]`),
               element(
                   'td',
                   {class: 'text verdict ' + claim.verdict.split(' ')[0]},
                   claim.verdict_text),
               element('td', {class: 'text'}, `${claim.holds} in ${claim.in}`),
               element('td', {}, `${claim.rows_held} of ${claim.rows.length}`),
               element('td', {}, claimShare(claim))),
           element(
               'tr',
               {class: 'numbers'},
               element('td', {class: 'text', colspan: 5}, claimNumbers(table, claim))),
  ]);
  fill(
      'claims',
      element('h2', {}, 'Claims'),
      scrollTable(
          {},
          ['claim [confidence]', 'here', 'means', 'rows', 'of resamples'].map(
              (text, i) => element('th', {class: i < 3 ? 'text' : ''}, text)),
          lines))
      .hidden = false;
  document.querySelector('nav a[href="#claims"]').hidden = false;
  window.addEventListener('beforeprint', () => {
    for (const fold of document.querySelectorAll('#claims details')) fold.open = true;
  });
}
