'use strict';
// Puts the parts together.

let shownProblem = 0;

function showProblem(index) {
  shownProblem = index;
  const problem = report.problems[index];
  if (problem.drawn) decodeTimeline(problem);
  showOverview(problem);
  showSummary(problem);
  showCurves(problem);
  showPlacement(problem);
  showTimeline(problem);
  showRobustness(problem);
  showVerification(problem);
  document.documentElement.dataset.shown = problem.title;
}

showHead();
showTable();
if (report.problems.length > 1) {
  const select = document.getElementById('problem');
  report.problems.forEach(
      (problem, i) => select.append(element('option', {value: i}, problem.title)));
  select.addEventListener('change', () => showProblem(+select.value));
  document.getElementById('chooser').hidden = false;
}
// #problem=2 opens the page at another one.
const asked = /problem=(\d+)/.exec(location.hash);
const first = asked && report.problems[+asked[1]] ? +asked[1] : 0;
document.getElementById('problem').value = first;
showProblem(first);

const again = () => showProblem(shownProblem);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
let width = innerWidth, waiting = 0;
addEventListener('resize', () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(again, 150);
});
