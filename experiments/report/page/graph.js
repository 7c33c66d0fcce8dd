'use strict';
// The drawn graph, fitted into its pane at the finest level with readable labels. A click opens a
// box at the next finer level, or lists its ops.

const READABLE = 0.85;  // least scale of readable labels

// focus: {node_of_op, node} of the opened box, or null for the whole graph.
function showGraph(problem, focus) {
  const levels = problem.levels;
  if (!levels || levels.length === 0)
    return void fill('graph', element('p', {class: 'note'}, 'The graph is not drawn.'));
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const reset = element('button', {}, 'whole graph'), tools = element('div', {class: 'tools'});
  const place = fill('graph', tools, svg);
  const width = Math.max(300, place.clientWidth || 1300),
        height = Math.max(360, Math.min(720, 0.72 * innerHeight));
  const folds = levels.map((level) => foldFor(level, width, height));
  const index = levelShown(folds), level = levels[index];
  const again = (value) => {
    View.set('level', value);
    showGraph(problem, null);
  };
  tools.append(
      chooser(
          'drawn as',
          Object.fromEntries(levels.map(({name}, i) => [i, name])),
          String(index),
          again),
      reset,
      deviceLegend(problem));
  place.append(
      caption(
          'A box: connected ops on one device, named after their scope, taller with more work; ' +
              'dashed where ops of several devices had to be joined (bars: their ' +
              'shares). Red lines ' +
              'cross devices, thicker with more bytes.' +
              (level.light_edges > 0 ?
                   ` ${Format.count(level.light_edges)} light edges (${
                       Format.percent(level.light_share)} of the bytes) are left out.` :
                   ''),
          'graph',
          {csv: () => placementRows(problem), svg: () => svgText(svg)}),
      element(
          'p',
          {class: 'hint'},
          'A click opens a box. Drag to move; Ctrl + wheel, or + and - with the picture focused, ' +
              'to zoom.'),
      element('div', {id: 'opened'}));
  // Uses the height of the highest level, so that nothing moves when a box opens.
  const highest = d3.max(folds, (one) => one.scale * one.height + 24);
  const fold = {...folds[index], paneWidth: width, paneHeight: Math.min(height, highest)};
  const open = (node) => {
    if (index + 1 === levels.length) return listOps(problem, level, node);
    View.set('level', String(index + 1));
    showGraph(problem, {node_of_op: level.node_of_op, node});
  };
  drawGraph(problem, level, fold, d3.select(svg), {reset, open, focus});
}

// Returns the level named in the address, else the finest readable one, else the coarsest.
function levelShown(folds) {
  const asked = View.index('level', folds);
  if (asked !== null) return asked;
  const readable = folds.map((fold, i) => (fold.scale >= READABLE ? i : 0));
  return d3.max(readable);
}

// Returns the nodes of `level` with ops of the opened box.
function openedNodes(level, focus) {
  const inside = new Set();
  focus.node_of_op.forEach((node, op) => {
    if (node === focus.node) inside.add(level.node_of_op[op]);
  });
  return inside;
}

function drawGraph(problem, level, fold, svg, {reset, open, focus}) {
  const colours = Colours.devices(problem.cluster), {paneWidth, paneHeight} = fold;
  const width = paneWidth, height = paneHeight;
  svg.attr({
    id: 'drawing',
    viewBox: `0 0 ${width} ${height}`,
    height,
    tabindex: 0,
    role: 'img',
    'aria-label': 'the graph coloured by device',
    'data-level': level.name,
    'data-scale': fold.scale.toFixed(3)
  });
  const inside = focus ? openedNodes(level, focus) : null;
  const plane = svg.append('g').attr('class', 'plane');
  const edges = drawEdges(level, fold, plane);
  drawNodes(problem, level, fold, plane, edges, colours, open)
      .classed('dim', (_, i) => inside !== null && !inside.has(i));
  if (inside) edges.classed('dim', (edge) => !inside.has(edge.from) && !inside.has(edge.to));
  zoomGraph(level, fold, svg, plane, width, height, inside, reset);
}

function drawEdges(level, fold, plane) {
  const crosses = (edge) => level.nodes[edge.from].device !== level.nodes[edge.to].device;
  const thickness = (edge) =>
      0.6 + 0.55 * Math.max(0, Math.log10((edge.bytes + edge.back + 1) / 1e4));
  const lines = level.edges.map((edge, i) => ({...edge, line: fold.paths[i]}));
  return plane.selectAll('path.edge')
      .data(lines.sort((a, b) => crosses(a) - crosses(b)))
      .enter()
      .append('path')
      .attr({
        class: (edge) => 'edge' + (crosses(edge) ? ' cross' : ''),
        d: (edge) => edge.line,
        'stroke-width': thickness
      })
      .on('mousemove', (edge) => Tooltip.show(d3.event, edgeLines(level, edge)))
      .on('mouseleave', Tooltip.hide);
}

function drawNodes(problem, level, fold, plane, edges, colours, open) {
  const at = (node, i) =>
      `translate(${fold.nodes[i].x - node.w / 2},${fold.nodes[i].y - node.h / 2})`;
  const nodes = plane.selectAll('g.node')
                    .data(level.nodes)
                    .enter()
                    .append('g')
                    .attr({
                      class: (node) => 'node' + (isMixed(node) ? ' mixed' : ''),
                      transform: at,
                      'data-device': (node) => problem.cluster.devices[node.device].name,
                      'data-ops': (node) => node.ops,
                      'data-index': (_, i) => i
                    })
                    .on('mousemove', (node) => Tooltip.show(d3.event, nodeLines(problem, node)))
                    .on('mouseenter',
                        (_, i) => edges.classed('far', (edge) => edge.from !== i && edge.to !== i))
                    .on('mouseleave',
                        () => {
                          edges.classed('far', false);
                          Tooltip.hide();
                        })
                    .on('click', (_, i) => {
                      if (d3.event.defaultPrevented) return;  // it was a drag
                      Tooltip.hide();
                      open(i);
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
  return nodes;
}

// Returns the ends of the part in view at first: the opened boxes, or the whole graph.
function shownFirst(level, fold, inside) {
  const some = level.nodes.map((node, i) => ({...node, ...fold.nodes[i], i}))
                   .filter(({i}) => inside === null || inside.has(i));
  const left = d3.min(some, (node) => node.x - node.w / 2),
        right = d3.max(some, (node) => node.x + node.w / 2);
  const top = d3.min(some, (node) => node.y - node.h / 2),
        bottom = d3.max(some, (node) => node.y + node.h / 2);
  return {left, top, width: right - left, height: bottom - top};
}

function zoomGraph(level, fold, svg, plane, width, height, inside, reset) {
  const zoom = d3.behavior.zoom().scaleExtent([Math.min(fold.scale, 1) / 2, 12]).on('zoom', () => {
    plane.attr('transform', `translate(${zoom.translate()})scale(${zoom.scale()})`);
    plane.classed('unreadable', zoom.scale() < 0.5);
  });
  const show = (box, most) => {
    const fit = Math.min(most, (width - 20) / box.width, (height - 20) / box.height);
    zoom.scale(fit).translate([
      (width - fit * box.width) / 2 - fit * box.left,
      (height - fit * box.height) / 2 - fit * box.top
    ]);
    zoom.event(svg);
  };
  const whole = () => show({left: 0, top: 0, width: fold.width, height: fold.height}, fold.scale);
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
  if (inside)
    show(shownFirst(level, fold, inside), 2);
  else
    whole();
}

const MOST_OPS = 400;  // in the list

// Lists the ops of a box, the longest first.
function listOps(problem, level, node) {
  const graph = report.graphs[problem.graph], time = problem.timeline.decoded.duration_of;
  const ops = d3.range(graph.ops)
                  .filter((op) => level.node_of_op[op] === node)
                  .sort((a, b) => time[b] - time[a]);
  const devices = problem.cluster.devices;
  fill(
      'opened',
      element(
          'h3',
          {},
          (level.nodes[node].title ? level.nodes[node].title + ': ' : '') + Format.ops(ops.length) +
              (ops.length > MOST_OPS ? `, the ${MOST_OPS} that take the longest` : '')),
      scrollTable(
          {id: 'ops'},
          [
            ...['op', 'kind', 'phase', 'device'].map(
                (text) => element('th', {class: 'text'}, text)),
            element('th', {'data-name': 'time_ns'}, 'time')
          ],
          ops.slice(0, MOST_OPS)
              .map(
                  (op) => element(
                      'tr',
                      {},
                      element('td', {class: 'text'}, opName(problem, op)),
                      element('td', {class: 'text'}, graph.kinds[graph.kind[op]]),
                      element('td', {class: 'text'}, PHASES[+graph.phase[op]]),
                      element('td', {class: 'text'}, devices[problem.drawn.placement[op]].name),
                      numberCell(time[op], Format.time(time[op]))))));
}

// Returns every op with its device, for a file.
function placementRows(problem) {
  const graph = report.graphs[problem.graph], devices = problem.cluster.devices;
  const time = problem.timeline.decoded.duration_of;
  return [
    ['op', 'kind', 'phase', 'device', 'time_ns'],
    ...problem.drawn.placement.map(
        (device, op) =>
            [opName(problem, op),
             graph.kinds[graph.kind[op]],
             PHASES[+graph.phase[op]],
             devices[device].name,
             time[op]])
  ];
}
