'use strict';
// One step as a Gantt chart on a canvas, with the memory of each device below it.

const PHASES = ['forward', 'backward', 'update'];

// Decodes the columns: absolute starts, events by lane, duration by op.
function decodeTimeline(problem) {
  const data = problem.timeline;
  if (data.decoded) return data.decoded;
  const absolute = (deltas) => {
    let at = 0;
    return Float64Array.from(deltas, (delta) => (at += delta));
  };
  const lanes = data.lanes.map((lane) => ({...lane, items: []}));
  const start = absolute(data.ops.start),
        duration_of = new Float64Array(report.graphs[problem.graph].ops);
  data.ops.op.forEach((op, i) => {
    lanes[data.ops.lane[i]].items.push(
        {op, start: start[i], length: data.ops.duration[i], wait: data.ops.wait[i]});
    duration_of[op] = data.ops.duration[i];
  });
  const moved = absolute(data.transfers.start);
  data.transfers.op.forEach((op, i) => lanes[data.transfers.lane[i]].items.push({
    op,
    start: moved[i],
    length: data.transfers.wire[i],
    wait: data.transfers.wait[i],
    bytes: data.transfers.bytes[i],
    latency: data.transfers.latency[i],
    to: data.transfers.to[i]
  }));
  return (data.decoded = {lanes, duration_of});
}

// The kinds of op that take the most time in all timelines of the report, the longest first. They
// have their own colours.
let longestKinds = null;
function rankKinds() {
  if (longestKinds) return longestKinds;
  const sums = new Map();
  for (const problem of report.problems.filter((one) => one.drawn)) {
    const graph = report.graphs[problem.graph], {op, duration} = problem.timeline.ops;
    op.forEach((v, i) => {
      const kind = graph.kinds[graph.kind[v]];
      sums.set(kind, (sums.get(kind) || 0) + duration[i] / problem.timeline.step_time_ns);
    });
  }
  const kinds = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
  return (longestKinds = kinds.slice(0, Colours.numKinds));
}

function showTimeline(problem) {
  if (!problem.drawn)
    return void fill(
        'timeline', element('h2', {}, 'Timeline'), element('p', {}, 'No placement yet.'));
  const decoded = decodeTimeline(problem), graph = report.graphs[problem.graph];
  const ranks = rankKinds(), devices = Colours.devices(problem.cluster);
  const byPhase = View.get('colour', ['phase', 'kind']) === 'phase';
  const rankOf = graph.kinds.map((kind) => ranks.indexOf(kind));
  const colourOf = (lane, item) =>
      (item.bytes !== undefined ? devices[item.to[0]] :
           byPhase              ? Colours.phase(+graph.phase[item.op]) :
                                  Colours.kind(rankOf[graph.kind[item.op]]));
  const legend = byPhase ? PHASES.map((name, i) => [Colours.phase(i), name]) : [
    ...ranks.map((kind, i) => [Colours.kind(i), kind])
        .filter(([, kind]) => graph.kinds.includes(kind)),
    [Colours.kind(-1), 'others']
  ];
  const canvas = element('canvas', {
    id: 'gantt',
    tabindex: 0,
    role: 'img',
    'data-bars':
        d3.sum(decoded.lanes.filter((lane) => lane.device !== null), (lane) => lane.items.length),
    'data-transfers': problem.timeline.transfers.op.length,
    'data-step-time': problem.timeline.step_time_ns,
    'aria-label': 'timeline of one step: a lane per device and link, memory per device'
  });
  const buttons = [
    ['−', () => picture.zoomBy(1 / 1.6)],
    ['+', () => picture.zoomBy(1.6)],
    ['whole step', () => picture.reset()]
  ].map(([text, onclick]) => element('button', {onclick}, text));
  fill(
      'timeline',
      element('h2', {}, 'Timeline of one step'),
      element(
          'div',
          {class: 'tools'},
          viewChooser(
              'ops coloured by',
              'colour',
              {phase: 'phase', kind: 'kind'},
              () => showTimeline(problem)),
          element('span', {}, buttons),
          element(
              'div',
              {class: 'legend'},
              legend.map(([colour, name]) => element('span', {}, swatch(colour), name)))),
      canvas,
      caption(
          'Lanes: devices, then links (transfers have the colour of the device that they go ' +
              'to). Below: memory in use, up to the capacity of the device (red line). Where ' +
              'there are many ops the whole step shows bars of one pixel; zooming in shows each op.',
          'timeline',
          {csv: () => timelineRows(problem), svg: () => picture.svg()}),
      element(
          'p',
          {class: 'hint'},
          'Drag to move; Ctrl + wheel, or + and - with the picture focused, to zoom.'));
  const picture = new Gantt(problem, decoded, canvas, colourOf);
}

// Returns every op and transfer, for a file.
function timelineRows(problem) {
  const graph = report.graphs[problem.graph], devices = problem.cluster.devices;
  const rows = problem.timeline.decoded.lanes.flatMap(
      (lane) => lane.items.map(
          (item) =>
              [item.bytes === undefined ? 'op' : 'transfer',
               lane.name,
               opName(problem, item.op),
               graph.kinds[graph.kind[item.op]],
               PHASES[+graph.phase[item.op]],
               item.start,
               item.length,
               item.wait,
               item.bytes,
               item.to ? item.to.map((d) => devices[d].name).join(' ') : null]));
  return [
    ['event', 'lane', 'op', 'kind', 'phase', 'start_ns', 'duration_ns', 'wait_ns', 'bytes', 'to'],
    ...rows
  ];
}
