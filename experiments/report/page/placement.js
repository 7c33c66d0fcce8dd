'use strict';
// The graph, contracted to few nodes and coloured by device.

function nodeLines(problem, node) {
  const devices = problem.cluster.devices, step = problem.timeline.step_time_ns;
  const lines = [
    node.title || Format.ops(node.ops),
    node.shares ? 'on ' +
            node.shares.map((share, d) => [share / d3.sum(node.shares), devices[d].name])
                .filter(([share]) => share > 0)
                .sort((a, b) => b[0] - a[0])
                .map(([share, name]) => `${name} ${Format.percent(share)}`)
                .join(', ') :
                  'on ' + devices[node.device].name,
    `${Format.ops(node.ops)}, ${Format.time(node.time_ns)} of work (${
        Format.percent(node.time_ns / step)} of the step)`
  ];
  if (node.resident_bytes > 0)
    lines.push(`parameters and state: ${Format.bytes(node.resident_bytes)}`);
  const kinds = report.graphs[problem.graph];
  for (const op of node.top) {
    lines.push(element(
        'small',
        {},
        `${opName(problem, op)} (${kinds.kinds[kinds.kind[op]]}) ${
            Format.time(problem.timeline.decoded.duration_of[op])}`));
  }
  return lines;
}

function edgeLines(level, edge) {
  const name = (i) => level.nodes[i].label;
  return [
    `${name(edge.from)} → ${name(edge.to)}: ${Format.bytes(edge.bytes)}`,
    edge.back > 0 ? `back (gradients): ${Format.bytes(edge.back)}` : null,
    edge.tensors === 1 ? '1 tensor' : `${Format.count(edge.tensors)} tensors`
  ];
}

function deviceTable(problem) {
  const colours = Colours.devices(problem.cluster), drawn = problem.drawn,
        step = drawn.step_time_ns;
  const bar = (share, colour) => element(
      'span',
      {class: 'bar'},
      element('i', {style: `width:${Math.min(100, 100 * share)}%;background:${colour}`}));
  const counts =
      drawn.devices.map((_, d) => drawn.placement.filter((device) => device === d).length);
  const rows = problem.cluster.devices.map((device, d) => {
    const {busy_ns, peak_bytes, deficit_bytes} = drawn.devices[d];
    return element(
        'tr',
        {'data-device': device.name, 'data-ops': counts[d], 'data-peak': peak_bytes},
        element('td', {}, swatch(colours[d]), device.name),
        numberCell(counts[d], Format.count(counts[d])),
        element(
            'td', {'data-sort': busy_ns}, Format.time(busy_ns), bar(busy_ns / step, colours[d])),
        element(
            'td',
            {class: deficit_bytes > 0 ? 'over' : '', 'data-sort': peak_bytes},
            Format.bytes(peak_bytes) +
                (device.memory === null ? '' : ' of ' + Format.bytes(device.memory)) +
                (deficit_bytes > 0 ? `: ${Format.bytes(deficit_bytes)} missing` : ''),
            device.memory === null ? null : bar(peak_bytes / device.memory, colours[d])));
  });
  const head = [
    'device',
    'ops',
    element('th', {'data-name': 'busy_ns'}, 'busy'),
    element('th', {'data-name': 'peak_bytes'}, 'peak memory')
  ];
  return scrollTable({id: 'devices'}, head, rows);
}

function showPlacement(problem) {
  const drawn = problem.drawn;
  if (!drawn)
    return void fill(
        'placement', element('h2', {}, 'Placement'), element('p', {}, 'No placement yet.'));
  const differs = drawn.searched_ns !== null && drawn.searched_ns !== drawn.step_time_ns;
  const title = element(
      'p',
      {id: 'drawn', 'data-label': drawn.label, 'data-step-time': drawn.step_time_ns},
      `${drawn.label}: ${Format.time(drawn.step_time_ns)}` +
          (drawn.feasible ? '' : ', does not fit') +
          (differs ?
               ` (simulated op by op, one step; the search saw ${Format.time(drawn.searched_ns)})` :
               '') +
          '; op costs from: ' +
          Object.entries(drawn.cost_sources)
              .filter(([, share]) => share >= 5e-4)
              .map(([name, share]) => `${name} ${Format.percent(share)}`)
              .join(', '));
  fill('placement', element('h2', {}, 'Placement'), title, deviceTable(problem), element('div', {
         id: 'graph'
       }));
  showGraph(problem, null);
}

// Returns whether a notable part of its work is on other devices.
const isMixed = (node) =>
    node.shares !== undefined && d3.max(node.shares) < 0.98 * d3.sum(node.shares);
