'use strict';
// Builds the page from its parts.

let shownProblem = 0;

function showProblem(index) {
  shownProblem = index;
  const problem = report.problems[index];
  if (problem.drawn) decodeTimeline(problem);
  showOverview(problem);
  showSummary(problem);
  showCurves(problem);
  showLearners(problem);
  showPlan(problem);
  showTimeline(problem);
  showPlacement(problem);
  showRobustness(problem);
  showVerification(problem);
  saveVerification();
  document.getElementById('problem').value = index;
  document.documentElement.dataset.shown = problem.title;
}

// Returns the problem that the address names by title or number; the first if it names none.
function askedProblem() {
  const asked = View.choices.get('problem'), problems = report.problems;
  const index = problems.findIndex((problem) => problem.title === asked);
  return index >= 0 ? index : View.index('problem', problems) ?? 0;
}

function chooseProblem(index) {
  const title = report.problems[index].title;
  const is_unique = report.problems.filter((problem) => problem.title === title).length === 1;
  View.choices.delete('level');
  View.set('problem', index === 0 ? null : is_unique ? title : index);
  showProblem(index);
}

function saveVerification() {
  for (const svg of document.querySelectorAll('#verification svg'))
    svg.after(saveButtons(svg.getAttribute('aria-label'), {svg: () => svgText(svg)}));
}

// Measures the bar, so that the target of a jump appears below it.
function measureBar() {
  const bar = document.getElementById('chooser');
  document.documentElement.style.setProperty('--bar', bar.offsetHeight + 'px');
}

showHead();
showTable();
showSweep();
const select = document.getElementById('problem');
report.problems.forEach(
    (problem, i) => select.append(element('option', {value: i}, problem.title)));
select.addEventListener('change', () => chooseProblem(+select.value));
document.getElementById('chooser').hidden = report.problems.length === 1;
for (const link of document.querySelectorAll('nav a')) link.addEventListener('click', View.follow);

View.read();
measureBar();
showProblem(askedProblem());
View.jump({behavior: 'instant'});

addEventListener('hashchange', () => {
  View.read();
  showProblem(askedProblem());
  View.jump();
});
const again = () => {
  measureBar();
  showSweep();
  showProblem(shownProblem);
};
darkTheme.addEventListener('change', again);
let width = innerWidth, waiting = 0;
addEventListener('resize', () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(again, 150);
});
