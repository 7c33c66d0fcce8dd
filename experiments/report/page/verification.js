'use strict';
// Step times simulated against measured, of the placements that were executed.

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
    figures.push(`Kendall's tau ${data.kendall_tau.toFixed(3)}`);
  const sure = data.coverage !== undefined,
        ends = (i) => [data.interval_low_ratio, data.interval_high_ratio].map(
            (ratio) => Format.time(ratio * data.simulated_ns[i]));
  if (sure)
    figures.push(
        `${Format.percent(data.coverage)} of the measured times within the ` +
        `${Math.round(100 * data.interval_level)} % intervals (by ${data.interval_source})`);
  fill(
      'verification',
      element('h2', {}, 'Simulated against measured'),
      element(
          'p',
          {},
          `${data.labels.length} placements executed on ${data.host}, ` +
              `${data.rounds} steps each (${data.mode}), ${data.date}. ${figures.join(', ')}.`),
      holder,
      scrollTable(
          {},
          ['placement', 'simulated', ...(sure ? ['interval'] : []), 'measured', 'error'],
          data.labels.map(
              (label, i) => element(
                  'tr',
                  {},
                  element('td', {class: 'text'}, label),
                  element(
                      'td',
                      {'data-simulated': data.simulated_ns[i]},
                      Format.time(data.simulated_ns[i])),
                  ...(sure ? [element('td', {}, ends(i).join(' .. '))] : []),
                  element(
                      'td',
                      {'data-measured': data.measured_ns[i]},
                      Format.time(data.measured_ns[i])),
                  element('td', {}, Format.percent(error(i)))))),
      data.unfitting.length ?
          element('p', {class: 'note'}, 'Not executed: ' + data.unfitting.join('; ')) :
          null);
  const width = Math.min(560, holder.clientWidth || 560), height = 400, left = 70, right = 20,
        foot = 44;
  const all = data.simulated_ns.concat(data.low_ns, data.high_ns),
        domain = [0.95 * d3.min(all), 1.05 * d3.max(all)];
  const x = d3.scale.linear().domain(domain).range([left, width - right]),
        y = d3.scale.linear().domain(domain).range([height - foot, 10]);
  const svg = d3.select(holder).append('svg').attr({
    viewBox: `0 0 ${width} ${height}`,
    width,
    role: 'img',
    'aria-label': 'simulated against measured step times'
  });
  svg.append('g')
      .attr({class: 'axis', transform: `translate(0,${height - foot})`})
      .call(d3.svg.axis().scale(x).orient('bottom').ticks(5).tickFormat(timeTicks(x)));
  svg.append('g')
      .attr({class: 'axis', transform: `translate(${left},0)`})
      .call(d3.svg.axis().scale(y).orient('left').ticks(6).tickFormat(timeTicks(y)));
  svg.append('text')
      .attr({x: width - right, y: height - 6, 'text-anchor': 'end'})
      .text('simulated step time');
  svg.append('text').attr({x: left + 6, y: 20}).text('measured (bars: 95 %)');
  svg.append('line')
      .attr({class: 'rule', x1: x(domain[0]), y1: y(domain[0]), x2: x(domain[1]), y2: y(domain[1])})
      .style('stroke', Colours.css('soft'));
  data.labels.forEach((label, i) => {
    const at = x(data.simulated_ns[i]);
    svg.append('line')
        .attr({x1: at, x2: at, y1: y(data.low_ns[i]), y2: y(data.high_ns[i])})
        .style('stroke', Colours.css('accent'));
    svg.append('circle')
        .attr({cx: at, cy: y(data.measured_ns[i]), r: 4.5})
        .style({fill: Colours.css('accent'), 'fill-opacity': 0.75})
        .on('mousemove',
            () => Tooltip.show(
                d3.event,
                [
                  label,
                  `simulated ${Format.time(data.simulated_ns[i])}` +
                      (sure ? ` (${ends(i).join(' .. ')})` : ''),
                  `measured ${Format.time(data.measured_ns[i])}`,
                  `error ${Format.percent(error(i))}`
                ]))
        .on('mouseleave', Tooltip.hide);
  });
}
