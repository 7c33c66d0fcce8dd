'use strict';
// Numbers, elements and the tooltip, shared by all parts.

// Registered first: a test reads the errors from the page.
window.addEventListener('error', (event) => {
  document.documentElement.dataset.errors =
      (document.documentElement.dataset.errors || '') + event.message + '\n';
});
document.addEventListener('securitypolicyviolation', (event) => {
  document.documentElement.dataset.errors =
      (document.documentElement.dataset.errors || '') + 'refused: ' + event.blockedURI + '\n';
});

const report = JSON.parse(document.getElementById('data').textContent);

const Format = {
  // Returns four significant digits and a unit: 667.7 ms.
  scaled(value, units) {
    if (value === null || value === undefined || Number.isNaN(value)) return '–';
    if (value === 0) return '0 ' + units[0][1];
    let [size, name] = units[0];
    for (const [s, n] of units)
      if (Math.abs(value) >= s) [size, name] = [s, n];
    const x = value / size,
          whole = Math.abs(x) < 10 ? 1 :
        Math.abs(x) < 100          ? 2 :
        Math.abs(x) < 1000         ? 3 :
                                     4;
    return (size === 1 ? String(Math.round(x)) : x.toFixed(4 - whole)) + ' ' + name;
  },
  time: (ns) => Format.scaled(ns, [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']]),
  bytes: (b) => Format.scaled(b, [[1, 'B'], [1024, 'KiB'], [1048576, 'MiB'], [1073741824, 'GiB']]),
  duration(seconds) {
    if (seconds >= 3600) return (seconds / 3600).toFixed(1) + ' h';
    return seconds >= 60 ? (seconds / 60).toFixed(1) + ' min' : seconds.toFixed(1) + ' s';
  },
  percent: (share) => (share === null ? '–' : (100 * share).toFixed(1) + ' %'),
  count: (n) => d3.format(',')(n),
  ops: (n) => Format.count(n) + (n === 1 ? ' op' : ' ops'),
};

// Makes an element with attributes and children (texts or elements). Texts are never markup.
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith('on'))
      made.addEventListener(key.slice(2), value);
    else if (key === 'style')
      made.style.cssText = value;
    else
      made.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat())
    if (child !== null && child !== undefined) made.append(child);
  return made;
}

function fill(id, ...children) {
  const place = document.getElementById(id);
  place.replaceChildren(...children.flat().filter((child) => child !== null));
  return place;
}

function facts(pairs) {
  return pairs.filter(([, text]) => text !== null && text !== '')
      .flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]);
}

// Makes a row of buttons or choices: {value: text}; onchange is called with the value.
function chooser(label, choices, chosen, onchange) {
  const select = element(
      'select',
      {onchange: () => onchange(select.value)},
      Object.entries(choices).map(
          ([value, text]) => element('option', {value, selected: value === chosen}, text)));
  return element('label', {}, label + ' ', select);
}

const Tooltip = {
  // lines: the first is bold; an empty list hides the tooltip.
  show(event, lines) {
    const box = document.getElementById('tooltip');
    if (lines.length === 0) return Tooltip.hide();
    box.replaceChildren(
        element('b', {}, lines[0]),
        ...lines.slice(1).filter((line) => line !== null).map((line) => element('div', {}, line)));
    box.hidden = false;
    const {width, height} = box.getBoundingClientRect();
    const x = event.clientX + 14, y = event.clientY + 14;
    box.style.left = Math.max(4, Math.min(x, innerWidth - width - 8)) + 'px';
    box.style.top =
        (y + height > innerHeight - 8 ? Math.max(4, event.clientY - height - 10) : y) + 'px';
  },
  hide() { document.getElementById('tooltip').hidden = true; },
};

// Returns the name of an op. The names of a graph are decoded at the first request.
function opName(problem, op) {
  const graph = report.graphs[problem.graph];
  if (!graph.decoded) {
    graph.decoded = [];
    let before = '';
    for (let i = 0; i < graph.names.length; i += 2) {
      before = before.slice(0, graph.names[i]) + graph.names[i + 1];
      graph.decoded.push(before);
    }
  }
  return graph.decoded[op];
}
