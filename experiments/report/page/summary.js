'use strict';
// The problem, and a table of the agents.

function runsText(runs) {
  const parts = [runs.done + ' done'];
  if (runs.failed) parts.push(runs.failed + ' failed');
  if (runs.stopped) parts.push(runs.stopped + ' stopped before their end');
  if (runs.open) parts.push(runs.open + ' not begun');
  return parts.join(', ');
}

function showHead() {
  fill(
      'source',
      (report.sweep ? 'sweep ' + report.sweep + ': ' : '') + runsText(report.runs) + ' – ' +
          report.source.join(', '));
  const made = report.made_by;
  fill(
      'footer',
      `Written by emplace ${made.version} (commit ${made.commit}), ${made.date}. ` +
          'Times are simulated unless they are called measured. ' +
          'Pictures: D3 (BSD-3-Clause), Graphviz.');
  const failures = document.getElementById('failures');
  failures.hidden = report.failures.length === 0;
  if (!failures.hidden) {
    fill(
        'failures',
        element('h2', {}, 'Failed runs'),
        element(
            'ul',
            {},
            report.failures.map(
                (failure) => element('li', {}, failure.run + ': ' + failure.error))));
  }
}

function budgetText(keys) {
  const limits = [];
  if (+keys['budget.evaluations'] > 0)
    limits.push(Format.count(+keys['budget.evaluations']) + ' evaluations');
  if (+keys['budget.seconds'] > 0) limits.push(keys['budget.seconds'] + ' s');
  if (+keys['budget.steps'] > 0) limits.push(Format.count(+keys['budget.steps']) + ' steps');
  return limits.join(' or ') + ' per agent and seed';
}

function showOverview(problem) {
  const list = document.querySelector('#overview .facts'), keys = problem.keys;
  const where = problem.provenance;
  const common = [
    ['budget', budgetText(keys)],
    ['seeds', problem.seeds.join(', ')],
    ['runs', runsText(problem.runs)],
    ['made with', `emplace ${where.version.join(', ')} (commit ${where.commit.join(', ')})`],
    ['on', `${where.host.join(', ')}: ${where.cpu.join('; ')}; GPUs: ${where.gpus.join('; ')}`],
    ['when', where.first === where.last ? where.first : `${where.first} to ${where.last}`],
  ];
  if (!problem.drawn) {
    list.replaceChildren(...facts([['graph', keys.graph], ['cluster', keys.cluster], ...common]));
    return;
  }
  const graph = report.graphs[problem.graph], single = problem.best_single_device,
        period = keys.objective === 'period';
  list.replaceChildren(...facts([
    ['graph', `${graph.name}: ${Format.ops(graph.ops)}, ${Format.count(problem.groups)} groups`],
    [
      'cluster',
      `${problem.cluster.name}: ` +
          problem.cluster.devices
              .map(
                  (device) => `${device.name} (${device.kind}${
                      device.memory === null ? '' : ', ' + Format.bytes(device.memory)})`)
              .join(', ')
    ],
    [
      'model',
      `${keys.semantics} semantics` +
          (keys.count_gaps === 'true' ? ' counting trailing gaps' : '') +
          (period ? ', period of pipelined steps' : ', step time') +
          (keys.simulate_groups === 'true' ? ', groups contracted (an approximation)' : '') +
          `; costs: ${
              keys.costs === 'none' ? 'the graph\'s own and the roofline model' : keys.costs}`
    ],
    ['coarsening', keys.coarsen],
    [
      'lower bound',
      `${Format.time(problem.bound_ns)}, proven by ${problem.bound_method}` +
          (problem.optimal ? '; the best placement is as good: it is optimal' : '') +
          ` (critical path ${Format.time(problem.critical_path_ns)}, ` +
          `work ${Format.time(problem.work_ns)})`
    ],
    [
      'best single device',
      single ? `${single.device}, ${Format.time(single.step_time_ns)}` : 'none holds the model'
    ],
    ...common
  ]));
}

function stepTimeCell(agent) {
  const time = agent.step_time_ns;
  if (time.median === null) {
    const deficits = Object.entries(agent.deficit_bytes).sort((a, b) => b[1] - a[1]);
    if (deficits.length && deficits[0][1] > 0) {
      return element(
          'td',
          {class: 'oom step', 'data-oom': true},
          `OOM (missing ${Format.bytes(deficits[0][1])} on ${deficits[0][0]})`);
    }
    return element('td', {}, agent.failed > 0 ? 'failed' : '–');
  }
  const parts = [Format.time(time.median)];
  if (time.min < time.max) parts.push(`[${Format.time(time.min)} .. ${Format.time(time.max)}]`);
  if (agent.fitting < agent.runs) parts.push(`(${agent.fitting} of ${agent.runs} fit)`);
  return numberCell(
      time.median,
      parts.flatMap((part, i) => [i > 0 ? ' ' : '', element('span', {}, part)]),
      {class: 'step', 'data-median': time.median, 'data-min': time.min, 'data-max': time.max});
}

function showSummary(problem) {
  if (!problem.drawn) {
    fill(
        'summary',
        element('h2', {}, 'Agents'),
        element('p', {}, 'No run has found a placement yet.'));
    return;
  }
  const devices = problem.cluster.devices;
  const seen = devices.length <= 8 ? devices : [];
  const peak = (device, i) =>
      element('th', {}, i === 0 ? 'peak GiB on ' : '', element('br'), device.name);
  const head = [
    'agent',
    'step time',
    'speed-up',
    'gap to bound',
    'evaluations',
    'search',
    'on hardware',
    ...(seen.length ? seen.map(peak) : ['largest peak GiB'])
  ];
  const csv = () => [
      [
        'agent',
        'seeds',
        'fitting',
        'failed',
        'median_ns',
        'min_ns',
        'max_ns',
        'speed_up',
        'gap',
        'evaluations',
        'seconds',
        'hardware_seconds',
        ...devices.map((device) => 'peak_bytes ' + device.name)
      ],
      ...problem.agents.map(
          (agent) =>
              [agent.agent,
               agent.runs,
               agent.fitting,
               agent.failed,
               agent.step_time_ns.median,
               agent.step_time_ns.min,
               agent.step_time_ns.max,
               agent.speed_up,
               agent.gap,
               agent.evaluations,
               agent.seconds,
               agent.hardware_seconds,
               ...devices.map((device) => agent.peak_bytes[device.name])])];
  const rows = problem.agents.map((agent, i) => {
    const peaks = seen.length ? seen.map((device) => agent.peak_bytes[device.name]) :
                                [d3.max(Object.values(agent.peak_bytes))];
    return element(
        'tr',
        {
          class: i === 0 && agent.step_time_ns.median !== null ? 'best' : '',
          'data-agent': agent.agent
        },
        element('td', {}, agent.agent),
        stepTimeCell(agent),
        numberCell(agent.speed_up, agent.speed_up === null ? '–' : agent.speed_up.toFixed(2) + '×'),
        numberCell(agent.gap, agent.gap === 0 ? 'optimal' : Format.percent(agent.gap)),
        numberCell(agent.evaluations, Format.count(agent.evaluations), {
          'data-evaluations': agent.evaluations
        }),
        numberCell(agent.seconds, Format.duration(agent.seconds)),
        numberCell(agent.hardware_seconds, Format.duration(agent.hardware_seconds)),
        peaks.map(
            (peak) => peak === undefined ? element('td', {}, '–') :
                                           numberCell(peak, (peak / 1073741824).toFixed(2))));
  });
  const holder = element('div', {class: 'picture'});
  fill(
      'summary',
      element('h2', {}, 'Agents'),
      scrollTable(
          {
            id: 'agents',
            'data-bound': problem.bound_ns,
            'data-method': problem.bound_method,
            'data-optimal': String(problem.optimal),
            'data-best-single-device':
                problem.best_single_device && problem.best_single_device.step_time_ns,
            csv
          },
          head,
          rows),
      element(
          'p',
          {class: 'note'},
          'Step time: median [range] over the seeds of the best placement that each found. ' +
              'Speed-up: over the best single device. Gap: to the lower bound, which no placement can beat; ' +
              'optimal: as good as the bound. ' +
              'Evaluations, search and on hardware (what measuring the same placements would have ' +
              'taken): medians over the seeds. Peak memory: of the best seed.'),
      holder);
  drawSeeds(problem, holder);
}

// Draws every seed of every agent, with the bound and the best single device.
function drawSeeds(problem, holder) {
  const agents = problem.agents.filter((agent) => agent.seeds.length > 0);
  const rows = agents.map((agent) => ({
                            label: agent.agent,
                            series: [{
                              name: agent.agent,
                              ...Colours.agent(agent.agent),
                              values: agent.seeds.map((seed) => seed.step_time_ns),
                              median: agent.step_time_ns.median,
                              lines: [agent.agent, ...seedLines(agent)]
                            }]
                          }));
  const all = agents.flatMap((agent) => agent.seeds.map((seed) => seed.step_time_ns))
                  .filter((time) => time !== null);
  if (all.length === 0) return;
  const single = problem.best_single_device, low = problem.bound_ns;
  const usual = d3.max([d3.median(all), single ? single.step_time_ns : 0]);
  const most = Math.min(1.03 * d3.max(all), 2.5 * usual);
  const picture = drawDots(holder, rows, {
    name: 'step time of each seed',
    axis: 'step time',
    least: low - 0.03 * (most - low),
    most,
    rules: [
      {at: low, text: `lower bound ${Format.time(low)}`, colour: Colours.css('good')},
      ...(single ? [{
        at: single.step_time_ns,
        text: `best single device ${single.device} ${Format.time(single.step_time_ns)}`,
        colour: Colours.css('soft')
      }] :
                   [])
    ]
  });
  const csv = () => [
      ['agent', 'search', 'step_time_ns', 'evaluations', 'seconds', 'hardware_seconds'],
      ...agents.flatMap(
          (agent) => agent.seeds.map(
              (seed) =>
                  [agent.agent,
                   seed.label,
                   seed.step_time_ns,
                   seed.evaluations,
                   seed.seconds,
                   seed.hardware_seconds]))];
  holder.append(caption(
      'Dots: seeds; bar: median; ▶: beyond the picture, or does not fit.',
      'seeds',
      {csv, svg: () => svgText(picture)}));
}
