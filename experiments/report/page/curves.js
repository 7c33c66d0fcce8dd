'use strict';
// Learning curves: best step time so far over evaluations.

const curveState = {
  scale: 'log',
  hidden: new Set()
};

function agentStyle(index) {
  const n = Colours.agents.length;
  return {
    colour: Colours.agents[index % n],
    dash: Colours.dashes[Math.floor(index / n) % Colours.dashes.length]
  };
}

// Value of a step function at x; null before the first and where nothing fitted.
function valueAt(curve, values, x) {
  const i = d3.bisectRight(curve.evaluations, x) - 1;
  return i < 0 ? null : values[i];
}

// The largest value worth drawing: where searches end, not where they begin.
function ceilingOf(problem, agents) {
  const ends =
      agents.flatMap((agent) => agent.curve.most.slice(-1)).filter((value) => value !== null);
  const starts = agents.filter((agent) => agent.curve.evaluations.length > 1)
                     .map((agent) => d3.max(agent.curve.median))
                     .filter((value) => value !== null);
  const single = problem.best_single_device, usual = d3.median(ends) || problem.bound_ns;
  const top = d3.max([usual, single ? single.step_time_ns : 0, d3.min(starts) || 0]);
  return Math.min(1.15 * top, 1.05 * (d3.max(ends.concat(starts)) || top));
}

function showCurves(problem) {
  const agents = (problem.agents || []).filter((agent) => agent.curve.evaluations.length > 0);
  if (!problem.drawn || agents.length === 0)
    return void fill(
        'curves', element('h2', {}, 'Learning curves'), element('p', {}, 'Nothing to show yet.'));
  const holder = element('div');
  const legend = element('div', {class: 'legend'}, agents.map((agent) => {
    const style = agentStyle(problem.agents.indexOf(agent));
    const line = `<svg width="26" height="10" aria-hidden="true"><path d="M0 5H26" stroke="${
        style.colour}" stroke-width="2.5" stroke-dasharray="${style.dash}"/></svg>`;
    const button = element('button', {
      'aria-pressed': String(!curveState.hidden.has(agent.agent)),
      onclick: () => {
        if (!curveState.hidden.delete(agent.agent)) curveState.hidden.add(agent.agent);
        showCurves(problem);
      }
    });
    button.innerHTML = line;
    button.append(' ' + agent.agent);
    return button;
  }));
  fill(
      'curves',
      element('h2', {}, 'Learning curves'),
      element(
          'div',
          {class: 'tools'},
          chooser(
              'evaluations',
              {log: 'logarithmic', linear: 'linear'},
              curveState.scale,
              (value) => {
                curveState.scale = value;
                showCurves(problem);
              }),
          legend),
      holder,
      element(
          'p',
          {class: 'note'},
          'Best step time so far: median over seeds and their range. Dots: agents that make only a ' +
              'few evaluations; ▲: the curve is above the picture.'));
  drawCurves(problem, agents, holder);
}

// One unit for all ticks of an axis.
function timeTicks(scale) {
  const most = d3.max(scale.domain()),
        [size, unit] = most >= 1.5e9 ? [1e9, 's'] :
      most >= 1e6                    ? [1e6, 'ms'] :
                                       [1e3, 'µs'];
  return (value) => d3.round(value / size, 3) + ' ' + unit;
}

function drawCurves(problem, agents, holder) {
  const width = Math.max(320, holder.clientWidth || 1000), height = 380;
  const margin = {left: 70, right: 16, top: 12, bottom: 40};
  const most = Math.max(2, d3.max(agents, (agent) => d3.max(agent.curve.evaluations)));
  const scale = curveState.scale === 'log' ? d3.scale.log().domain([1, most]) :
                                             d3.scale.linear().domain([0, most]);
  const x = scale.range([margin.left, width - margin.right]);
  const top = ceilingOf(problem, agents);
  const low = d3.min([
    problem.bound_ns,
    ...agents.map((agent) => d3.min(agent.curve.least.filter((v) => v !== null)) || top)
  ]);
  const y = d3.scale.linear().domain([low - 0.04 * (top - low), top]).range([
    height - margin.bottom,
    margin.top
  ]);
  const svg = d3.select(holder).append('svg').attr({
    viewBox: `0 0 ${width} ${height}`,
    width: '100%',
    role: 'img',
    'aria-label': 'learning curves',
    id: 'curve-picture'
  });
  const ticks = curveState.scale === 'log' ?
      d3.range(0, Math.ceil(Math.log10(most)) + 1).map((e) => 10 ** e).filter((v) => v <= most) :
      null;
  const bottom = d3.svg.axis().scale(x).orient('bottom').tickFormat(d3.format(','));
  svg.append('g')
      .attr({class: 'axis', transform: `translate(0,${height - margin.bottom})`})
      .call(ticks ? bottom.tickValues(ticks) : bottom.ticks(Math.max(3, width / 140)));
  svg.append('g')
      .attr({class: 'axis', transform: `translate(${margin.left},0)`})
      .call(d3.svg.axis()
                .scale(y)
                .orient('left')
                .ticks(7)
                .tickFormat(timeTicks(y))
                .innerTickSize(-(width - margin.left - margin.right)));
  svg.append('text')
      .attr({x: width - margin.right, y: height - 6, 'text-anchor': 'end'})
      .text('evaluations');
  svg.append('clipPath').attr('id', 'curve-clip').append('rect').attr({
    x: margin.left,
    y: margin.top,
    width: width - margin.left - margin.right,
    height: height - margin.top - margin.bottom
  });
  const plot = svg.append('g').attr('clip-path', 'url(#curve-clip)');
  const rule = (value, text, colour) => {
    if (value === null || value > top) return;
    plot.append('line')
        .attr({class: 'rule', x1: margin.left, x2: width, y1: y(value), y2: y(value)})
        .style('stroke', colour);
    plot.append('text')
        .attr({x: width - margin.right - 4, y: y(value) - 4, 'text-anchor': 'end'})
        .style('fill', colour)
        .text(`${text} ${Format.time(value)}`);
  };
  rule(
      problem.bound_ns,
      problem.optimal ? 'lower bound, reached' : `lower bound (${problem.bound_method})`,
      Colours.css('good'));
  const single = problem.best_single_device;
  if (single) rule(single.step_time_ns, single.device, Colours.css('soft'));

  const shown = agents.filter((agent) => !curveState.hidden.has(agent.agent));
  for (const agent of shown.slice().reverse()) {
    const {colour, dash} = agentStyle(problem.agents.indexOf(agent)), curve = agent.curve;
    const points =
        curve.evaluations
            .map(
                (at, i) =>
                    ({at, median: curve.median[i], least: curve.least[i], most: curve.most[i]}))
            .filter((point) => point.median !== null);
    if (points.length === 0) continue;
    const last = points[points.length - 1];
    if (last.at < 0.02 * most && curveState.scale === 'linear' || last.at <= 10) {
      const beyond = last.median > top;
      plot.append('path')
          .attr({
            d: d3.svg.symbol().type(beyond ? 'triangle-up' : 'circle').size(64)(),
            transform: `translate(${x(last.at) + (last.at === 1 ? 5 : 0)},${
                beyond ? margin.top + 7 : y(last.median)})`
          })
          .style('fill', colour);
      continue;
    }
    const clamp = (value) => y(Math.min(value === null ? Infinity : value, 10 * top));
    plot.append('path')
        .attr({
          class: 'band',
          d: d3.svg.area()
                 .interpolate('step-after')
                 .x((p) => x(p.at))
                 .y0((p) => y(p.least))
                 .y1((p) => clamp(p.most))(points)
        })
        .style('fill', colour);
    plot.append('path')
        .attr({
          class: 'curve',
          'data-agent': agent.agent,
          'data-last': last.median,
          d: d3.svg.line().interpolate('step-after').x((p) => x(p.at)).y((p) => y(p.median))(points)
        })
        .style({stroke: colour, 'stroke-dasharray': dash});
  }
  const cursor = plot.append('line').attr({y1: margin.top, y2: height - margin.bottom}).style({
    stroke: Colours.css('soft'),
    display: 'none'
  });
  svg.on('mousemove', () => {
       const at = Math.round(x.invert(d3.mouse(svg.node())[0]));
       if (at < 1 || at > most) return;
       cursor.attr({x1: x(at), x2: x(at)}).style('display', null);
       const lines =
           shown
               .map((agent) => ({
                      agent,
                      value: valueAt(agent.curve, agent.curve.median, at),
                      c: agent.curve
                    }))
               .filter(({value}) => value !== null)
               .sort((a, b) => a.value - b.value)
               .map(({agent, value, c}) => {
                 const least = valueAt(c, c.least, at), high = valueAt(c, c.most, at);
                 return element(
                     'span',
                     {},
                     swatch(agentStyle(problem.agents.indexOf(agent)).colour),
                     `${agent.agent} ${Format.time(value)}` +
                         (least === high ? '' :
                                           ` [${Format.time(least)} .. ${
                                               high === null ? 'OOM' : Format.time(high)}]`));
               });
       Tooltip.show(d3.event, [`after ${Format.count(at)} evaluations`, ...lines]);
     }).on('mouseleave', () => {
    cursor.style('display', 'none');
    Tooltip.hide();
  });
}
