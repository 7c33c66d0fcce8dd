'use strict';
// The passes of a plan: the program has drawn the picture.
function showPlan(problem) {
  const section = document.getElementById('plan'), text = problem.plan_picture;
  section.hidden = !text;
  document.querySelector('nav a[href="#plan"]').hidden = !text;
  if (!text) return;
  const picture = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  picture.setAttribute('role', 'img');
  picture.setAttribute('aria-label', 'passes over micro-batches and memory of each device');
  picture.removeAttribute('height');
  picture.setAttribute('width', '100%');
  fill(
      'plan',
      element('h2', {}, 'Replicas, stages and micro-batches'),
      picture,
      caption(
          'A box is a forward or backward pass over one micro-batch; its tooltip has the ' +
              'times. Gaps are waiting. Memory of all devices has one scale.',
          'plan',
          {svg: () => text}));
}
