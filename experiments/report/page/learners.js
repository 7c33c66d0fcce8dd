'use strict';
// Draws each number that learning agents record with an update as a small picture.

// These columns come first, in this order, each with a sentence; the others follow.
const UPDATE_TEXTS = {
  mean_cost: 'the negative reward',
  gain: 'sum of an episode\'s rewards',
  best_gain: 'largest of a batch',
  baseline: 'of the reward',
  loss: '',
  entropy: 'mean per decision [nats]',
  kl: 'from the old policy [nats]',
  best_step_time_ns: 'so far',
  start_step_time_ns: 'at an episode\'s begin',
  last_step_time_ns: 'at an episode\'s end',
  feasible: 'share of placements that fit',
  gradient_norm: 'before clipping',
  learning_rate: '',
};
const UPDATE_COUNTERS = ['evaluations', 'update', 'batch'];  // an axis at most

// Returns the updates with a value of a column.
function pointsOf(seed, column, axis) {
  const along = axis === 'evaluations' && seed.values.evaluations || seed.update;
  return seed.values[column]
      .map((y, i) => ({x: along[i], y}))
      .filter((p) => p.y !== null && p.x !== null);
}

function isConstant(agent, column) {
  const values = agent.updates.seeds.flatMap((seed) => seed.values[column] || [])
                     .filter((value) => value !== null);
  return values.every((value) => value === values[0]);
}

function showLearners(problem) {
  const learners = (problem.agents || []).filter((agent) => agent.updates);
  document.getElementById('learners').hidden = learners.length === 0;
  document.querySelector('nav a[href="#learners"]').hidden = learners.length === 0;
  if (learners.length === 0) return;
  const axis = View.get('updates', ['update', 'evaluations']);
  fill(
      'learners',
      element('h2', {}, 'Learners'),
      element(
          'div',
          {class: 'tools'},
          viewChooser(
              'over',
              'updates',
              {update: 'updates', evaluations: 'evaluations'},
              () => showLearners(problem))),
      learners.map((agent) => learnerPictures(agent, axis)),
      element(
          'p',
          {class: 'note'},
          'A line for each seed. Where there are more than 400 updates a point is the mean of several.'));
  for (const agent of learners)
    for (const holder of document.querySelectorAll('#learners .small'))
      if (holder.dataset.learner === agent.agent) drawUpdates(agent, holder, axis);
}

function learnerPictures(agent, axis) {
  const order = Object.keys(UPDATE_TEXTS);
  const rank = (column) => (order.indexOf(column) + order.length + 1) % (order.length + 1);
  const all = agent.updates.columns.filter((column) => !UPDATE_COUNTERS.includes(column));
  const drawn =
      all.filter((column) => !isConstant(agent, column)).sort((a, b) => rank(a) - rank(b));
  const constant = all.filter((column) => isConstant(agent, column)).map((column) => {
    const value = agent.updates.seeds.flatMap((seed) => seed.values[column])
                      .find((number) => number !== null);
    return `${column} ${value === undefined ? '–' : value}`;
  });
  const csv = () => [
      ['seed', 'row', ...agent.updates.columns],
      ...agent.updates.seeds.flatMap(
          (seed) => seed.update.map(
              (update, i) =>
                  [seed.seed,
                   update,
                   ...agent.updates.columns.map((column) => (seed.values[column] || [])[i])]))];
  return element(
      'div',
      {},
      element('h3', {}, agentMark(agent.agent), ' ' + agent.agent),
      element(
          'div',
          {class: 'smalls'},
          drawn.map(
              (column) => element(
                  'figure',
                  {class: 'small', 'data-learner': agent.agent, 'data-column': column},
                  element(
                      'figcaption',
                      {},
                      element('b', {}, column.replace(/_ns$/, '').replaceAll('_', ' ')),
                      UPDATE_TEXTS[column] ? ': ' + UPDATE_TEXTS[column] : null)))),
      caption(
          constant.length ? 'Constant: ' + constant.join(', ') : null,
          agent.agent + '-updates',
          {csv}));
}

function drawUpdates(agent, holder, axis) {
  const column = holder.dataset.column, {colour} = Colours.agent(agent.agent);
  const width = Math.max(220, holder.clientWidth), height = 150;
  const margin = {left: 58, right: 20, top: 6, bottom: 22};
  const lines = agent.updates.seeds.filter((seed) => seed.values[column])
                    .map((seed) => ({seed: seed.seed, points: pointsOf(seed, column, axis)}));
  const points = lines.flatMap((line) => line.points);
  const x = d3.scale.linear().domain([0, d3.max(points, (p) => p.x)]).range([
    margin.left,
    width - margin.right
  ]);
  const y = d3.scale.linear().domain(d3.extent(points, (p) => p.y)).nice().range([
    height - margin.bottom,
    margin.top
  ]);
  const svg = d3.select(holder).append('svg').attr({
    viewBox: `0 0 ${width} ${height}`,
    width: '100%',
    role: 'img',
    'aria-label': `${column} of ${agent.agent}`
  });
  const isTime = column.endsWith('_ns');
  const bottom = d3.svg.axis().scale(x).orient('bottom').ticks(4).tickFormat(
      (value) => (Number.isInteger(value) ? Format.count(value) : ''));
  const side = d3.svg.axis().scale(y).orient('left').ticks(4).innerTickSize(
      margin.left + margin.right - width);
  if (isTime) side.tickFormat(timeTicks(y));
  svg.append('g')
      .attr({class: 'axis', transform: `translate(0,${height - margin.bottom})`})
      .call(bottom);
  svg.append('g').attr({class: 'axis', transform: `translate(${margin.left},0)`}).call(side);
  const path = d3.svg.line().x((p) => x(p.x)).y((p) => y(p.y));
  for (const line of lines) {
    svg.append('path')
        .attr({class: 'curve update', d: path(line.points), 'data-seed': line.seed})
        .style({stroke: colour, 'stroke-width': 1.5, 'stroke-opacity': lines.length > 1 ? 0.7 : 1});
    if (line.points.length <= 30)
      svg.selectAll(null)
          .data(line.points)
          .enter()
          .append('circle')
          .attr({class: 'point', cx: (p) => x(p.x), cy: (p) => y(p.y), r: 2.2})
          .style('fill', colour);
  }
  svg.on('mousemove', () => {
       const at = x.invert(d3.mouse(svg.node())[0]);
       const number = (value) => (isTime ? Format.time(value) : String(value));
       const values = lines.map((line) => {
         const known = line.points.filter((p) => p.x <= at).pop();
         return known ? `seed ${line.seed}: ${number(known.y)}` : null;
       });
       Tooltip.show(d3.event, [
         `${column} after ${Format.count(Math.max(0, Math.round(at)))} ${
             axis === 'update' ? 'updates' : 'evaluations'}`,
         ...values
       ]);
     }).on('mouseleave', Tooltip.hide);
  holder.firstChild.append(
      ' ', saveButtons(`${agent.agent}-${column}`, {svg: () => svgText(svg.node())}));
}
