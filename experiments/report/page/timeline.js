'use strict';
// One step as a Gantt picture on a canvas, the memory of each device below it.

const ganttState = {
  colour: 'phase'
};
const PHASES = ['forward', 'backward', 'update'];

// Columns as they are drawn: absolute starts, events by lane, duration by op.
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

// The kinds of op that take the most time get colours of their own.
function kindColours(problem) {
  const graph = report.graphs[problem.graph], sums = graph.kinds.map(() => 0);
  problem.timeline.decoded.duration_of.forEach((time, op) => (sums[graph.kind[op]] += time));
  const top = d3.range(sums.length).sort((a, b) => sums[b] - sums[a]).slice(0, Colours.gpus.length);
  return {
    top,
    colour: (kind) => (top.includes(kind) ? Colours.gpus[top.indexOf(kind)] : '#8b939e')
  };
}

function showTimeline(problem) {
  if (!problem.drawn)
    return void fill(
        'timeline', element('h2', {}, 'Timeline'), element('p', {}, 'No placement yet.'));
  const decoded = decodeTimeline(problem), graph = report.graphs[problem.graph];
  const kinds = kindColours(problem), devices = Colours.devices(problem.cluster);
  const byPhase = ganttState.colour === 'phase';
  const colourOf = (lane, item) =>
      (item.bytes !== undefined ? devices[item.to[0]] :
           byPhase              ? Colours.phases[+graph.phase[item.op]] :
                                  kinds.colour(graph.kind[item.op]));
  const legend = byPhase ?
      PHASES.map((name, i) => [Colours.phases[i], name]) :
      [...kinds.top.map((kind) => [kinds.colour(kind), graph.kinds[kind]]), ['#8b939e', 'others']];
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
          chooser(
              'ops coloured by',
              {phase: 'phase', kind: 'kind'},
              ganttState.colour,
              (value) => {
                ganttState.colour = value;
                showTimeline(problem);
              }),
          element('span', {}, buttons),
          element(
              'div',
              {class: 'legend'},
              legend.map(([colour, name]) => element('span', {}, swatch(colour), name)))),
      canvas,
      element(
          'p',
          {class: 'note'},
          'Lanes: devices, then links (transfers have the colour of the device that they go to). ' +
              'Below: memory in use, with the capacity as a red line. Where there are many ops the ' +
              'whole step shows bars of one pixel; zooming in shows each op.'),
      element(
          'p',
          {class: 'hint'},
          'Drag to move; Ctrl + wheel, or + and - with the picture focused, to zoom.'));
  const picture = new Gantt(problem, decoded, canvas, colourOf);
}
