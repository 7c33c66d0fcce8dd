'use strict';
// All problems of a sweep in one picture: each agent's seeds relative to the best known step time.

function showSweep() {
  const problems = report.problems.filter((problem) => problem.drawn);
  const hidden = problems.length < 2;
  document.getElementById('sweep').hidden = hidden;
  document.querySelector('nav a[href="#sweep"]').hidden = hidden;
  if (hidden) return;
  const rows = problems.map((problem) => {
    const best =
        d3.min(problem.agents.flatMap((agent) => agent.seeds), (seed) => seed.step_time_ns);
    const ratio = (time) => (time === null ? null : time / best);
    return {
      label: problem.title,
      series: problem.agents.map((agent) => ({
                                   name: agent.agent,
                                   ...Colours.agent(agent.agent),
                                   values: agent.seeds.map((seed) => ratio(seed.step_time_ns)),
                                   median: ratio(agent.step_time_ns.median),
                                   lines: [agent.agent, problem.title, ...seedLines(agent)]
                                 }))
    };
  });
  const holder = element('div', {class: 'high'});
  const csv = () => [
      ['problem', 'agent', 'search', 'step_time_ns'],
      ...problems.flatMap(
          (problem) => problem.agents.flatMap(
              (agent) => agent.seeds.map(
                  (seed) => [problem.title, agent.agent, seed.label, seed.step_time_ns])))];
  fill(
      'sweep',
      element('h2', {}, 'All problems'),
      element(
          'div',
          {class: 'legend'},
          agentNames.map((name) => element('span', {}, agentMark(name), ' ' + name))),
      holder,
      caption(
          'Step time over the shortest of the problem. Dots: seeds; bar: median; ▶: beyond the ' +
              'picture, or does not fit. A click on a problem shows it below.',
          'all-problems',
          {csv, svg: () => svgText(holder.firstChild)}));
  const all = rows.flatMap((row) => row.series.flatMap((series) => series.values))
                  .filter((value) => value !== null);
  drawDots(holder, rows, {
    name: 'step times of all problems',
    axis: 'step time / best known',
    format: (value) => d3.round(value, 3) + '×',
    least: 1,
    most: Math.max(1.05, Math.min(d3.max(all), 3)),
    rules: [],
    onclick: (row) => chooseProblem(report.problems.indexOf(problems[row]))
  });
}

// "seed0: 702.9 ms"
function seedLines(agent) {
  const time = (seed) => (seed.step_time_ns === null ? 'OOM' : Format.time(seed.step_time_ns));
  const lines = agent.seeds.slice(0, 12).map((seed) => `${seed.label}: ${time(seed)}`);
  if (agent.seeds.length > 12) lines.push(`and ${agent.seeds.length - 12} seeds more`);
  return lines;
}
