'use strict';
// The results of emplace stress: the stability of the ranks of the best placements, and their
// regrets.

const scenarioNames = {
  noise: 'noise',
  slow_links: 'links of half the bandwidth and twice the latency'
};

function scenarioText(name, noise) {
  if (name === 'noise') return `noise of ${Format.percent(noise)} on every op and link`;
  return scenarioNames[name] || name.replace('semantics_', '') + ' semantics';
}

function adversaryText(data) {
  const [first, second] = data.labels;
  return data.adversary.epsilon === null ?
      `No change of costs and links within ${
          Format.percent(
              data.adversary.range)} was found that makes ${second} better than ${first}.` :
      `Changes of costs and links by at most ${
          (100 * data.adversary.epsilon).toPrecision(3)} % can make ${second} better than ${
          first}.`;
}

function showRobustness(problem) {
  const section = document.getElementById('robustness'), data = problem.stress;
  section.hidden = !data;
  document.querySelector('nav a[href="#robustness"]').hidden = !data;
  if (!data) return;
  const regret = (value) => value === null ? 'OOM' : (100 * value).toFixed(2) + ' %';
  const holder = element('div');
  fill(
      'robustness',
      element('h2', {}, 'Robustness'),
      element(
          'p',
          {},
          'The best placement of each agent, simulated with other costs. Regret: how much longer a ' +
              'step takes than with the best of them in the same draw.'),
      scrollTable(
          {id: 'scenarios'},
          ['change', 'draws', 'Kendall\'s tau', 'winner stays best', 'its regret', 'largest'],
          data.scenarios.map(
              (scenario) => element(
                  'tr',
                  {'data-scenario': scenario.name},
                  element('td', {class: 'text'}, scenarioText(scenario.name, data.noise)),
                  element('td', {}, Format.count(scenario.draws)),
                  element(
                      'td',
                      {},
                      scenario.kendall_tau === null ? '–' : scenario.kendall_tau.toFixed(3)),
                  element(
                      'td',
                      {'data-top-share': scenario.top_share},
                      Format.percent(scenario.top_share)),
                  element('td', {}, regret(scenario.regret)),
                  element('td', {}, regret(scenario.worst_regret))))),
      data.adversary ? element('p', {class: 'note'}, adversaryText(data)) : null,
      element('h3', {}, `Regret under ${scenarioText('noise', data.noise)}`),
      holder,
      caption(
          `Dots: draws; bar: median; ▶: beyond the picture, or does not fit. ${data.date}, ${
              data.host}.`,
          'regret',
          {csv: () => regretRows(data), svg: () => svgText(holder.firstChild)}));
  drawRegrets(data, holder);
}

function regretRows(data) {
  const rows =
      data.labels.flatMap((label, i) => data.regrets[i].map((value, draw) => [label, draw, value]));
  return [['placement', 'draw', 'regret'], ...rows];
}

// Draws a line of dots for each placement.
function drawRegrets(data, holder) {
  const width = Math.max(320, Math.min(900, holder.clientWidth || 900)), row = 26;
  const left = Math.min(260, width / 3), right = 24, height = row * data.labels.length + 40;
  const all = data.regrets.flat().filter((value) => value !== null).sort(d3.ascending);
  const most = Math.max(1e-4, 1.05 * (d3.quantile(all, 0.99) || 0));
  const x = d3.scale.linear().domain([0, most]).range([left, width - right]);
  const svg = d3.select(holder).append('svg').attr({
    viewBox: `0 0 ${width} ${height}`,
    width,
    role: 'img',
    'aria-label': 'regret of each placement under noise'
  });
  svg.append('g')
      .attr({class: 'axis', transform: `translate(0,${height - 36})`})
      .call(d3.svg.axis().scale(x).orient('bottom').ticks(6).tickFormat(
          (value) => d3.round(100 * value, 3) + ' %'));
  svg.append('text').attr({x: width - right, y: height - 2, 'text-anchor': 'end'}).text('regret');
  data.labels.forEach((label, i) => {
    const middle = row * (i + 0.5), shown = label.length > 36 ? label.slice(0, 35) + '…' : label;
    const {colour} = Colours.agent(agentOfSearch(label));
    const line =
        svg.append('g').attr({'data-placement': label, 'data-draws': data.regrets[i].length});
    line.append('text').attr({x: left - 8, y: middle + 4, 'text-anchor': 'end'}).text(shown);
    data.regrets[i].forEach((value, draw) => {
      const y = middle + (draw * 7 % 11 - 5) * 0.12 * row / 2;
      if (value === null || value > most) {
        line.append('path')
            .attr({
              d: d3.svg.symbol().type('triangle-up').size(26)(),
              transform: `translate(${width - right + 8},${y}) rotate(90)`
            })
            .style('fill', colour);
        return;
      }
      line.append('circle').attr({cx: x(value), cy: y, r: 2.5}).style({
        fill: colour,
        'fill-opacity': 0.45
      });
    });
    const sorted =
        data.regrets[i].map((value) => value === null ? Infinity : value).sort(d3.ascending);
    const median = d3.quantile(sorted, 0.5);
    if (median <= most)
      line.append('line')
          .attr({x1: x(median), x2: x(median), y1: middle - 0.4 * row, y2: middle + 0.4 * row})
          .style({stroke: colour, 'stroke-width': 3});
    line.on('mousemove',
            () => Tooltip.show(
                d3.event,
                [
                  label,
                  `unchanged ${Format.time(data.step_times_ns[i])}`,
                  `median regret ${median === Infinity ? 'OOM' : Format.percent(median)}`
                ]))
        .on('mouseleave', Tooltip.hide);
  });
}
