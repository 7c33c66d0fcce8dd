'use strict';
// Fits a drawing of layers into a pane. A long chain of layers is cut into columns side by side (or
// into rows, if the layers go from left to right).

const FOLD_GAP = 46;  // between two columns, for the edges between them

// Returns the layers in order: {from, to, nodes}, with nodes at the same position along the
// drawing.
function layersOf(level, along) {
  const size = along === 'y' ? 'h' : 'w', layers = new Map();
  level.nodes.forEach((node, i) => {
    const key = Math.round(node[along]);
    const layer = layers.get(key) || {from: Infinity, to: -Infinity, nodes: []};
    layer.from = Math.min(layer.from, node[along] - node[size] / 2);
    layer.to = Math.max(layer.to, node[along] + node[size] / 2);
    layer.nodes.push(i);
    layers.set(key, layer);
  });
  return [...layers.entries()].sort((a, b) => a[0] - b[0]).map(([, layer]) => layer);
}

// Returns the drawing in `count` columns: {width, height, nodes: [{x, y}], paths: [SVG path of each
// edge]}.
function foldInto(level, count) {
  const along = level.height >= level.width ? 'y' : 'x', across = along === 'y' ? 'x' : 'y';
  const size = along === 'y' ? 'w' : 'h', layers = layersOf(level, along);
  const length = (layers[layers.length - 1].to - layers[0].from) / count;
  const columns = [];
  for (const layer of layers) {
    const column = columns[columns.length - 1];
    if (!column || (columns.length < count && layer.to - column.from > 1.02 * length))
      columns.push({from: layer.from, to: layer.to, nodes: [...layer.nodes]});
    else {
      column.to = Math.max(column.to, layer.to);
      column.nodes.push(...layer.nodes);
    }
  }
  const columnOf = [];
  let offset = 0;
  columns.forEach((column, c) => {
    for (const i of column.nodes) columnOf[i] = c;
    const nodes = column.nodes.map((i) => level.nodes[i]);
    const low = d3.min(nodes, (node) => node[across] - node[size] / 2);
    const high = d3.max(nodes, (node) => node[across] + node[size] / 2);
    column.shift = {[along]: -column.from, [across]: offset - low};
    column.end = offset + high - low;
    offset = column.end + FOLD_GAP;
  });
  const nodes = level.nodes.map((node, i) => {
    const {shift} = columns[columnOf[i]];
    return {x: node.x + shift.x, y: node.y + shift.y};
  });
  const longest = d3.max(columns, (column) => column.to - column.from);
  const total = offset - FOLD_GAP;
  const paths = level.edges.map((edge) => {
    const from = columnOf[edge.from], to = columnOf[edge.to];
    if (from === to) return shiftedPath(edge.path, columns[from].shift);
    return gutterPath(
        level, nodes, edge, along, columns[Math.max(from, to) - 1].end + FOLD_GAP / 2);
  });
  return along === 'y' ? {width: total, height: longest, nodes, paths} :
                         {width: longest, height: total, nodes, paths};
}

function shiftedPath(path, shift) {
  const at = (i) => `${path[i] + shift.x},${path[i + 1] + shift.y}`;
  let d = 'M' + at(0);
  for (let i = 2; i + 5 < path.length; i += 6) d += `C${at(i)} ${at(i + 2)} ${at(i + 4)}`;
  return d;
}

// Returns the path from the end of one node through the gap between columns to the start of the
// other.
function gutterPath(level, nodes, edge, along, gutter) {
  const end = (i, side) => {
    const {x, y} = nodes[i], half = level.nodes[i][along === 'y' ? 'h' : 'w'] / 2;
    return along === 'y' ? [x, y + side * half] : [x + side * half, y];
  };
  const [x1, y1] = end(edge.from, 1), [x2, y2] = end(edge.to, -1);
  return along === 'y' ? `M${x1},${y1}C${gutter},${y1 + 30} ${gutter},${y2 - 30} ${x2},${y2}` :
                         `M${x1},${y1}C${x1 + 30},${gutter} ${x2 - 30},${gutter} ${x2},${y2}`;
}

// Returns the fold that can be shown largest in a pane, and its scale.
function foldFor(level, width, height) {
  const scaleOf = (fold) => Math.min(1.4, (width - 20) / fold.width, (height - 20) / fold.height);
  const folds = d3.range(1, 9).map((count) => foldInto(level, count));
  const best = folds.reduce((a, b) => (scaleOf(b) > 1.02 * scaleOf(a) ? b : a));
  return {...best, scale: scaleOf(best)};
}
