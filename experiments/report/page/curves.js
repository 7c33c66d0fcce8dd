'use strict';
// Learning curves: best step time so far over evaluations, seconds of search, or hours of the same
// search on the hardware.

// curve: an agent's curve on the axis; at: its efforts; say: an effort as text.
const CURVE_AXES = {
  evaluations: {
    text: 'evaluations',
    curve: (agent) => agent.curve,
    at: (curve) => curve.evaluations,
    say: (x) => `after ${Format.count(Math.round(x))} evaluations`
  },
  seconds: {
    text: 'seconds of search',
    curve: (agent) => agent.curve_over_seconds,
    at: (curve) => curve.seconds,
    say: (x) => `after ${Format.duration(x)} of search`
  },
  hardware: {
    text: 'hours on the hardware',
    curve: (agent) => agent.curve_over_hardware,
    at: (curve) => curve.seconds.map((seconds) => seconds / 3600),
    say: (x) => `after ${Format.duration(3600 * x)} of measuring on the hardware`
  },
};

// Returns the agents that have a curve, in drawn form: {agent, at, median, least, most}.
function curvesOf(problem, axis) {
  return (problem.agents || [])
      .map((agent) => {
        const curve = axis.curve(agent);
        return {agent: agent.agent, ...curve, at: axis.at(curve)};
      })
      .filter((curve) => curve.at.length > 0);
}

// Returns the value of a step function at x; null before the first point and if no placement fits.
function valueAt(curve, values, x) {
  const i = d3.bisectRight(curve.at, x) - 1;
  return i < 0 ? null : values[i];
}

// Returns the largest drawn value: it includes the ends of searches, but not their beginnings.
function ceilingOf(problem, curves) {
  const ends = curves.flatMap((curve) => curve.most.slice(-1)).filter((value) => value !== null);
  const starts = curves.filter((curve) => curve.at.length > 1)
                     .map((curve) => d3.max(curve.median))
                     .filter((value) => value !== null);
  const single = problem.best_single_device, usual = d3.median(ends) || problem.bound_ns;
  const top = d3.max([usual, single ? single.step_time_ns : 0, d3.min(starts) || 0]);
  return Math.min(1.15 * top, 1.05 * (d3.max(ends.concat(starts)) || top));
}

function curveLegend(curves, hidden, again) {
  return element('div', {class: 'legend'}, curves.map(({agent}) => {
    const button = element('button', {
      'aria-pressed': String(!hidden.includes(agent)),
      onclick: () => {
        const others = hidden.filter((name) => name !== agent);
        View.set('hide', others.length < hidden.length ? others : [...hidden, agent]);
        again();
      }
    });
    button.append(agentMark(agent), ' ' + agent);
    return button;
  }));
}

function showCurves(problem) {
  const name = View.get('axis', Object.keys(CURVE_AXES)), axis = CURVE_AXES[name];
  const scale = View.get('scale', ['log', 'linear']), hidden = View.getAll('hide');
  const curves = curvesOf(problem, axis), again = () => showCurves(problem);
  if (!problem.drawn || curves.length === 0)
    return void fill(
        'curves', element('h2', {}, 'Learning curves'), element('p', {}, 'Nothing to show yet.'));
  const holder = element('div');
  const texts = Object.entries(CURVE_AXES).map(([key, {text}]) => [key, text]);
  const csv = () => [
      ['agent', axis.text, 'median_ns', 'least_ns', 'most_ns'],
      ...curves.flatMap(
          (curve) => curve.at.map(
              (at, i) => [curve.agent, at, curve.median[i], curve.least[i], curve.most[i]]))];
  fill(
      'curves',
      element('h2', {}, 'Learning curves'),
      element(
          'div',
          {class: 'tools'},
          viewChooser('over', 'axis', Object.fromEntries(texts), again),
          viewChooser('scale', 'scale', {log: 'logarithmic', linear: 'linear'}, again),
          curveLegend(curves, hidden, again)),
      holder,
      caption(
          'Best step time so far: median over seeds and their range. Dots: agents that make only ' +
              'a few evaluations; ▲: the whole curve is above the picture.',
          'curves-over-' + name,
          {csv, svg: () => svgText(holder.firstChild)}));
  drawCurves(
      problem,
      curves.filter((curve) => !hidden.includes(curve.agent)),
      curves,
      axis,
      scale,
      holder);
}

// Uses one unit for all ticks of an axis.
function timeTicks(scale) {
  const most = d3.max(scale.domain()),
        [size, unit] = most >= 1.5e9 ? [1e9, 's'] :
      most >= 1e6                    ? [1e6, 'ms'] :
                                       [1e3, 'µs'];
  return (value) => d3.round(value / size, 3) + ' ' + unit;
}

// Returns the powers of ten in a domain if there are at least two.
function decades([least, most]) {
  const ticks =
      d3.range(Math.ceil(Math.log10(least) - 1e-9), Math.floor(Math.log10(most) + 1e-9) + 1)
          .map((exponent) => 10 ** exponent);
  return ticks.length > 1 ? ticks : [least, most];
}

// Returns the ends of the axis: from 1 evaluation, or from the first time that is not 0.
function effortDomain(curves, axis, scale) {
  const most = d3.max(curves, (curve) => d3.max(curve.at));
  if (scale === 'linear') return [0, most || 1];
  if (axis === CURVE_AXES.evaluations) return [1, Math.max(2, most)];
  const least = d3.min(curves.flatMap((curve) => curve.at).filter((at) => at > 0));
  return least < most ? [least, most] : [(most || 1) / 10, most || 1];
}

// shown: the curves that are not hidden; the axes fit all curves.
function drawCurves(problem, shown, curves, axis, scale, holder) {
  const width = Math.max(300, holder.clientWidth || 1000), height = 380;
  const margin = {left: 70, right: 16, top: 12, bottom: 40};
  const domain = effortDomain(curves, axis, scale), isLog = scale === 'log';
  const x = (isLog ? d3.scale.log() : d3.scale.linear()).domain(domain).clamp(true).range([
    margin.left,
    width - margin.right
  ]);
  const top = ceilingOf(problem, curves);
  const low = d3.min([
    problem.bound_ns,
    ...curves.map((curve) => d3.min(curve.least.filter((v) => v !== null)) || top)
  ]);
  const y = d3.scale.linear().domain([low - 0.04 * (top - low), top]).range([
    height - margin.bottom,
    margin.top
  ]);
  const svg = d3.select(holder).append('svg').attr({
    viewBox: `0 0 ${width} ${height}`,
    width: '100%',
    role: 'img',
    'aria-label': 'learning curves over ' + axis.text,
    id: 'curve-picture'
  });
  const bottom = d3.svg.axis().scale(x).orient('bottom').tickFormat(
      (value) => d3.format(',')(+value.toPrecision(2)));
  svg.append('g')
      .attr({class: 'axis', transform: `translate(0,${height - margin.bottom})`})
      .call(isLog ? bottom.tickValues(decades(domain)) : bottom.ticks(Math.max(3, width / 140)));
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
      .text(axis.text);
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
  if (single) rule(single.step_time_ns, 'best single device ' + single.device, Colours.css('soft'));
  for (const curve of shown.slice().reverse())
    drawCurve(plot, curve, {x, y, top, ceiling: margin.top, isShort: isShortOn(x, isLog)});
  const cursor = plot.append('line').attr({y1: margin.top, y2: height - margin.bottom}).style({
    stroke: Colours.css('soft'),
    display: 'none'
  });
  svg.on('mousemove', () => {
       const at = x.invert(d3.mouse(svg.node())[0]);
       if (at < domain[0] || at > domain[1]) return;
       cursor.attr({x1: x(at), x2: x(at)}).style('display', null);
       Tooltip.show(d3.event, [axis.say(at), ...curveLines(shown, at)]);
     }).on('mouseleave', () => {
    cursor.style('display', 'none');
    Tooltip.hide();
  });
}

// Curves that end at the very beginning of the axis are drawn as dots.
function isShortOn(x, isLog) {
  const [left, right] = x.range();
  return (last) => x(last) - left < (isLog ? 0.2 : 0.02) * (right - left);
}

function drawCurve(plot, curve, {x, y, top, ceiling, isShort}) {
  const {colour, dash, symbol} = Colours.agent(curve.agent);
  const points =
      curve.at
          .map(
              (at, i) =>
                  ({at, median: curve.median[i], least: curve.least[i], most: curve.most[i]}))
          .filter((point) => point.median !== null);
  if (points.length === 0) return;
  const last = points[points.length - 1];
  const beyond = last.median > top;
  if (beyond || isShort(last.at)) {
    plot.append('path')
        .attr({
          d: d3.svg.symbol().type(beyond ? 'triangle-up' : symbol).size(64)(),
          transform: `translate(${isShort(last.at) ? x(last.at) + 5 : x(last.at) - 6},${
              beyond ? ceiling + 7 : y(last.median)})`
        })
        .style('fill', colour);
    return;
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
        'data-agent': curve.agent,
        'data-last': last.median,
        'data-end': last.at,
        d: d3.svg.line().interpolate('step-after').x((p) => x(p.at)).y((p) => y(p.median))(points)
      })
      .style({stroke: colour, 'stroke-dasharray': dash});
}

// Lists the value of each curve at `at`, the best first.
function curveLines(curves, at) {
  return curves.map((curve) => ({curve, value: valueAt(curve, curve.median, at)}))
      .filter(({value}) => value !== null)
      .sort((a, b) => a.value - b.value)
      .map(({curve, value}) => {
        const least = valueAt(curve, curve.least, at), most = valueAt(curve, curve.most, at);
        const range = least === most ?
            '' :
            ` [${Format.time(least)} .. ${most === null ? 'OOM' : Format.time(most)}]`;
        return element(
            'span',
            {},
            swatch(Colours.agent(curve.agent).colour),
            `${curve.agent} ${Format.time(value)}${range}`);
      });
}
