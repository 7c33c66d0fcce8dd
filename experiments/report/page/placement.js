'use strict';
// The graph, contracted to few nodes and coloured by device.

const placementState = {
  level: 0
};

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
        element('td', {}, Format.count(counts[d])),
        element('td', {}, Format.time(busy_ns), bar(busy_ns / step, colours[d])),
        element(
            'td',
            {class: deficit_bytes > 0 ? 'oom' : ''},
            Format.bytes(peak_bytes) +
                (device.memory === null ? '' : ' of ' + Format.bytes(device.memory)) +
                (deficit_bytes > 0 ? `: ${Format.bytes(deficit_bytes)} missing` : ''),
            device.memory === null ? null : bar(peak_bytes / device.memory, colours[d])));
  });
  return scrollTable({id: 'devices'}, ['device', 'ops', 'busy', 'peak memory'], rows);
}

function showPlacement(problem) {
  const drawn = problem.drawn;
  if (!drawn)
    return void fill(
        'placement', element('h2', {}, 'Placement'), element('p', {}, 'No placement yet.'));
  const levels = problem.levels,
        index = Math.min(placementState.level, levels ? levels.length - 1 : 0);
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
          Object.entries(drawn.rungs)
              .filter(([, share]) => share >= 5e-4)
              .map(([name, share]) => `${name} ${Format.percent(share)}`)
              .join(', '));
  const parts = [element('h2', {}, 'Placement'), title, deviceTable(problem)];
  if (!levels || levels.length === 0)
    return void fill('placement', parts, element('p', {class: 'note'}, 'The graph is not drawn.'));
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const reset = element('button', {}, 'whole graph');
  fill(
      'placement',
      parts,
      element(
          'div',
          {class: 'tools', style: 'margin-top:12px'},
          chooser(
              'drawn as',
              Object.fromEntries(levels.map((level, i) => [i, level.name])),
              String(index),
              (value) => {
                placementState.level = +value;
                showPlacement(problem);
              }),
          reset,
          deviceLegend(problem)),
      svg,
      element(
          'p',
          {class: 'note'},
          'A box: connected ops on one device, named after their scope, taller with more work; ' +
              'dashed where ops of several devices had to be joined (bars: their ' +
              'shares). Red lines ' +
              'cross devices, thicker with more bytes.' +
              (levels[index].light_edges > 0 ?
                   ` ${Format.count(levels[index].light_edges)} light edges (${
                       Format.percent(levels[index].light_share)} of the bytes) are left out.` :
                   '')),
      element(
          'p',
          {class: 'hint'},
          'Drag to move; Ctrl + wheel, or + and - with the picture focused, to zoom.'));
  drawGraph(problem, levels[index], d3.select(svg), reset);
}

// More than a trace of its work is on other devices.
const isMixed = (node) =>
    node.shares !== undefined && d3.max(node.shares) < 0.98 * d3.sum(node.shares);

function drawGraph(problem, level, svg, reset) {
  const colours = Colours.devices(problem.cluster);
  svg.attr('id', 'drawing');
  const width = Math.max(320, svg.node().clientWidth || 1300),
        height = Math.max(
            340, Math.min(1500, level.height * Math.min(1.25, (width - 20) / level.width) + 30));
  svg.attr({
    viewBox: `0 0 ${width} ${height}`,
    height,
    tabindex: 0,
    role: 'img',
    'aria-label': 'the graph coloured by device'
  });
  const plane = svg.append('g');
  const line = (path) => {
    let d = `M${path[0]},${path[1]}`;
    for (let i = 2; i + 5 < path.length; i += 6) d += `C${path.slice(i, i + 6).join(',')}`;
    return d;
  };
  const crosses = (edge) => level.nodes[edge.from].device !== level.nodes[edge.to].device;
  const thickness = (edge) =>
      0.6 + 0.55 * Math.max(0, Math.log10((edge.bytes + edge.back + 1) / 1e4));
  const edges = plane.selectAll('path.edge')
                    .data(level.edges.slice().sort((a, b) => crosses(a) - crosses(b)))
                    .enter()
                    .append('path')
                    .attr({
                      class: (edge) => 'edge' + (crosses(edge) ? ' cross' : ''),
                      d: (edge) => line(edge.path),
                      'stroke-width': thickness
                    })
                    .on('mousemove', (edge) => Tooltip.show(d3.event, edgeLines(level, edge)))
                    .on('mouseleave', Tooltip.hide);
  const nodes =
      plane.selectAll('g.node')
          .data(level.nodes)
          .enter()
          .append('g')
          .attr({
            class: (node) => 'node' + (isMixed(node) ? ' mixed' : ''),
            transform: (node) => `translate(${node.x - node.w / 2},${node.y - node.h / 2})`,
            'data-device': (node) => problem.cluster.devices[node.device].name,
            'data-ops': (node) => node.ops,
            'data-index': (_, i) => i
          })
          .on('mousemove', (node) => Tooltip.show(d3.event, nodeLines(problem, node)))
          .on('mouseenter',
              (_, i) => edges.classed('dim', (edge) => edge.from !== i && edge.to !== i))
          .on('mouseleave', () => {
            edges.classed('dim', false);
            Tooltip.hide();
          });
  nodes.append('rect')
      .attr({class: 'box', width: (node) => node.w, height: (node) => node.h, rx: 4})
      .style('fill', (node) => colours[node.device]);
  nodes.filter(isMixed).each(function(node) {
    let at = 0;
    const total = d3.sum(node.shares);
    node.shares.forEach((share, d) => {
      d3.select(this)
          .append('rect')
          .attr({x: at, y: node.h - 4, width: node.w * share / total, height: 4})
          .style('fill', colours[d]);
      at += node.w * share / total;
    });
  });
  nodes.append('text')
      .attr({x: (node) => node.w / 2, y: (node) => node.h / 2 + 3})
      .style('fill', (node) => Colours.inkOn(colours[node.device]))
      .text((node) => node.label);

  const fit = Math.min((width - 20) / level.width, (height - 20) / level.height);
  const zoom = d3.behavior.zoom()
                   .scaleExtent([fit / 2, 12])
                   .on('zoom',
                       () => plane.attr(
                           'transform', `translate(${zoom.translate()})scale(${zoom.scale()})`));
  const whole = () => {
    zoom.scale(fit).translate([(width - fit * level.width) / 2, (height - fit * level.height) / 2]);
    zoom.event(svg);
  };
  zoomOnRequest(svg, zoom);
  svg.on('keydown', () => {
    const step = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [
                    0,
                    -60
                  ]}[d3.event.key];
    const factor = {'+': 1.3, '=': 1.3, '-': 1 / 1.3}[d3.event.key];
    if (step)
      zoom.translate([zoom.translate()[0] + step[0], zoom.translate()[1] + step[1]]);
    else if (factor) {
      const [tx, ty] = zoom.translate();
      zoom.scale(zoom.scale() * factor).translate([
        width / 2 - (width / 2 - tx) * factor,
        height / 2 - (height / 2 - ty) * factor
      ]);
    } else if (d3.event.key === '0' || d3.event.key === 'Home')
      return whole();
    else
      return;
    d3.event.preventDefault();
    zoom.event(svg);
  });
  reset.addEventListener('click', whole);
  whole();
}

// The wheel scrolls the page; with a modifier it zooms.
function zoomOnRequest(selection, zoom) {
  selection.call(zoom).on('dblclick.zoom', null);
  const wheel = selection.on('wheel.zoom');
  selection.on('wheel.zoom', function() {
    if (d3.event.ctrlKey || d3.event.metaKey || d3.event.altKey || d3.event.shiftKey)
      wheel.apply(this, arguments);
  });
}
