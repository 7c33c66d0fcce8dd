'use strict';
// Simulated against measured step times of the executed placements.

function showVerification(problem) {
  const section = document.getElementById('verification'), data = problem.verification;
  section.hidden = !data;
  document.querySelector('nav a[href="#verification"]').hidden = !data;
  if (!data) return;
  const holder = element('div'), error = (i) => data.simulated_ns[i] / data.measured_ns[i] - 1;
  const figures = [['Mean error', data.mape], ['largest error', data.max_error]]
                      .filter(([, value]) => value !== undefined && value !== null)
                      .map(([name, value]) => `${name} ${Format.percent(value)}`);
  if (data.kendall_tau !== undefined && data.kendall_tau !== null)
    figures.push(`rank correlation (Kendall's tau) ${data.kendall_tau.toFixed(3)}`);
  const sure = data.coverage !== undefined, paired = data.to_fastest !== undefined,
        ends = (i) => [data.interval_low_ratio, data.interval_high_ratio].map(
            (ratio) => Format.time(ratio * data.simulated_ns[i]));
  if (sure)
    figures.push(
        `${Format.percent(data.coverage)} of the measured times within the ` +
        `${Math.round(100 * data.interval_level)} % intervals (by ${data.interval_source})`);
  const level = paired ? Math.round(100 * data.paired_level) : 0;
  fill(
      'verification',
      element('h2', {}, 'Simulated against measured'),
      data.verdict ? element('p', {class: 'verdict'}, element('strong', {}, data.verdict + '.')) :
                     null,
      ...(data.warnings || []).map((text) => element('p', {class: 'note'}, 'Warning: ' + text)),
      element(
          'p',
          {},
          `${data.labels.length} placements executed on ${data.host}, ` +
              `${data.rounds} steps each (${data.mode}), ${data.date}. ${figures.join(', ')}.`),
      holder,
      scrollTable(
          {},
          [
            'placement',
            'measured',
            'simulated',
            'error',
            ...(paired ? [`against the fastest (${level} %)`] : []),
            ...(sure ? ['interval'] : [])
          ],
          data.labels.map(
              (label, i) => element(
                  'tr',
                  {},
                  element('td', {class: 'text'}, label),
                  element(
                      'td',
                      {'data-measured': data.measured_ns[i]},
                      Format.time(data.measured_ns[i])),
                  element(
                      'td',
                      {'data-simulated': data.simulated_ns[i]},
                      Format.time(data.simulated_ns[i])),
                  element('td', {}, Format.percent(error(i))),
                  ...(paired ? [element('td', {}, againstFastest(data, i))] : []),
                  ...(sure ? [element('td', {}, ends(i).join(' .. '))] : [])))),
      paired ? element(
                   'p',
                   {class: 'note'},
                   'Against the fastest: how much longer, median over the rounds of the ratio of ' +
                       `two steps of the same round, with its ${
                           level} % interval. Not distinguishable: ` +
                       'the interval includes 0.') :
               null,
      data.unfitting.length ?
          element('p', {class: 'note'}, 'Not executed: ' + data.unfitting.join('; ')) :
          null);
  drawVerification(
      data,
      holder,
      (i) =>
          [data.labels[i],
           `measured ${Format.time(data.measured_ns[i])}`,
           `simulated ${Format.time(data.simulated_ns[i])}` +
               (sure ? ` (${ends(i).join(' .. ')})` : ''),
           `error ${Format.percent(error(i))}`]);
}

// Returns "fastest", "+3.1 % [+2.0 .. +4.4]", "+0.4 % [-1.2 .. +1.9], not distinguishable", or
// "+3.1 %" if there were too few rounds for an interval.
function againstFastest(data, i) {
  const fastest = data.measured_ns.indexOf(d3.min(data.measured_ns));
  if (i === fastest) return 'fastest';
  const percent = (ratio) => d3.format('+.1f')(100 * (ratio - 1)), low = data.to_fastest_low[i],
        high = data.to_fastest_high[i], text = percent(data.to_fastest[i]) + ' %';
  if (low === null || high === null) return text;
  return `${text} [${percent(low)} .. ${percent(high)}]` +
      (low <= 1 && high >= 1 ? ', not distinguishable' : '');
}

// Draws a square with the same scale on both sides, as `emplace validate --svg` does. The scale is
// logarithmic if times differ by more than a factor of ten.
function drawVerification(data, holder, describe) {
  const side = Math.min(420, (holder.clientWidth || 520) - 100), left = 80, top = 10;
  const all = data.simulated_ns.concat(data.low_ns, data.high_ns), low = d3.min(all),
        high = d3.max(all), domain = [low / 1.05, high * 1.05], isLog = high > 10 * low,
        scale = () => (isLog ? d3.scale.log() : d3.scale.linear()).domain(domain);
  const x = scale().range([left, left + side]), y = scale().range([top + side, top]);
  const axis = (of) => {
    const made = d3.svg.axis().scale(of).ticks(5).tickFormat(timeTicks(of));
    if (!isLog) return made;
    const decades = d3.range(Math.floor(Math.log10(domain[0])), Math.log10(domain[1]));
    return made.tickValues(
        d3.merge(decades.map((exponent) => [1, 2, 5].map((factor) => factor * 10 ** exponent)))
            .filter((value) => value >= domain[0] && value <= domain[1]));
  };
  const svg = d3.select(holder).append('svg').attr({
    viewBox: `0 0 ${left + side + 20} ${top + side + 44}`,
    width: left + side + 20,
    role: 'img',
    'aria-label': 'simulated against measured step times'
  });
  svg.append('g')
      .attr({class: 'axis', transform: `translate(0,${top + side})`})
      .call(axis(x).orient('bottom'));
  svg.append('g')
      .attr({class: 'axis', transform: `translate(${left},0)`})
      .call(axis(y).orient('left'));
  svg.append('text')
      .attr({x: left + side, y: top + side + 38, 'text-anchor': 'end'})
      .text(`measured step time (bars: ${
          data.rounds < 6 ? `range of ${data.rounds} rounds` : '95 %'})`);
  svg.append('text').attr({x: left + 6, y: top + 12}).text('simulated (dashed: ±5 %)');
  for (const factor of [0.95, 1, 1.05]) {
    const from = Math.max(domain[0], domain[0] / factor),
          to = Math.min(domain[1], domain[1] / factor);
    svg.append('line')
        .attr({class: 'rule', x1: x(from), y1: y(from * factor), x2: x(to), y2: y(to * factor)})
        .style({stroke: Colours.css('soft'), 'stroke-dasharray': factor === 1 ? 'none' : '4 4'});
  }
  data.labels.forEach((label, i) => {
    const at = y(data.simulated_ns[i]);
    svg.append('line')
        .attr({y1: at, y2: at, x1: x(data.low_ns[i]), x2: x(data.high_ns[i])})
        .style('stroke', Colours.css('accent'));
    svg.append('circle')
        .attr({cx: x(data.measured_ns[i]), cy: at, r: 4.5})
        .style({fill: Colours.css('accent'), 'fill-opacity': 0.75})
        .on('mousemove', () => Tooltip.show(d3.event, describe(i)))
        .on('mouseleave', Tooltip.hide);
  });
}
