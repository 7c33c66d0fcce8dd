'use strict';
// Separate palettes for devices, agents, phases and kinds of op. No two palettes share a colour,
// the colours of each can be told apart with colour-blindness, and an object has the same colour in
// all pictures.

// Okabe and Ito's colours for GPUs, greys for CPUs.
const DEVICE_COLOURS = {
  gpu: ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#7f3c2c'],
  cpu: ['#8b939e', '#5f6874', '#b4bac2'],
};
// Agents are lines and dots on the card: dark on the light card, light on the dark card.
const AGENT_COLOURS = {
  light: ['#3648be', '#b83d7b', '#8e9a29', '#840277', '#538bed', '#4c4209', '#7c6805', '#461d3a'],
  dark: ['#7486fa', '#fc9ef3', '#9df979', '#ae7761', '#acf6e3', '#5db3a4', '#72af0b', '#a3cf8b'],
};
// Steps of violet, in the order of the phases.
const PHASE_COLOURS = {
  light: ['#c4a6e8', '#8d5bc8', '#4d2185'],
  dark: ['#e3d3f7', '#b08be0', '#7a4fc0'],
};
const KIND_COLOURS = {
  light: ['#fb91df', '#ab4a12', '#438ca9', '#be8546', '#8a4a83', '#abd09f', '#6cae98', '#ead2e5'],
  dark: ['#6ad7f9', '#f8c352', '#b6518b', '#8a821a', '#4193c8', '#f3bbb4', '#bb9b67', '#4d6a3f'],
};
const OTHER_KINDS = {
  light: '#c9ced6',
  dark: '#4a5361'
};
// For more agents than colours.
const DASHES = ['', '7 3', '2 3', '9 3 2 3'], SYMBOLS = ['circle', 'square', 'diamond', 'cross'];

const darkTheme = matchMedia('(prefers-color-scheme: dark)');
const theme = () => (darkTheme.matches ? 'dark' : 'light');

// All labels of the report, so that an agent keeps its colour in all problems.
const agentNames = [
  ...new Set(
      report.problems.flatMap((problem) => (problem.agents || []).map((agent) => agent.agent)))
].sort();

const Colours = {
  // Further devices get lighter and darker colours.
  devices(cluster) {
    const seen = {cpu: 0, gpu: 0};
    const mixed = cluster.devices.some((device) => device.class !== 'cpu');
    return cluster.devices.map((device) => {
      const kind = mixed && device.class === 'cpu' ? 'cpu' : 'gpu', list = DEVICE_COLOURS[kind];
      const index = seen[kind]++, round = Math.floor(index / list.length);
      const base = d3.hsl(list[index % list.length]);
      return (round === 0         ? base :
                  round % 2 === 1 ? base.darker(0.8 * round) :
                                    base.brighter(0.5 * round))
          .toString();
    });
  },
  // Returns colour, dashes and symbol of an agent by its label.
  agent(label) {
    const index = Math.max(0, agentNames.indexOf(label)), list = AGENT_COLOURS[theme()];
    const round = Math.floor(index / list.length) % DASHES.length;
    return {colour: list[index % list.length], dash: DASHES[round], symbol: SYMBOLS[round]};
  },
  phase: (index) => PHASE_COLOURS[theme()][index],
  kind: (rank) => KIND_COLOURS[theme()][rank] || OTHER_KINDS[theme()],
  numKinds: KIND_COLOURS.light.length,
  inkOn(colour) {
    const {r, g, b} = d3.rgb(colour);
    return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#10131a' : '#ffffff';
  },
  css: (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(),
};

// Returns "hill_climb" for the search "hill_climb.seed2", the first of "hill_climb.seed2,
// genetic.seed0".
function agentOfSearch(label) {
  const first = label.split(', ')[0];
  return agentNames.includes(first) ? first : first.replace(/\.seed\d+$/, '');
}

function swatch(colour) { return element('i', {class: 'swatch', style: 'background:' + colour}); }

// Returns the line and the dot of an agent, for legends.
function agentMark(label) {
  const {colour, dash, symbol} = Colours.agent(label);
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  d3.select(svg).attr({width: 26, height: 12, 'aria-hidden': 'true', class: 'mark'});
  d3.select(svg).append('path').attr({d: 'M0 6H26', 'stroke-dasharray': dash}).style({
    stroke: colour,
    'stroke-width': 2.5
  });
  d3.select(svg)
      .append('path')
      .attr({d: d3.svg.symbol().type(symbol).size(44)(), transform: 'translate(13,6)'})
      .style('fill', colour);
  return svg;
}

function deviceLegend(problem) {
  const colours = Colours.devices(problem.cluster);
  return element(
      'div',
      {class: 'legend'},
      problem.cluster.devices.map(
          (device, d) => element('span', {}, swatch(colours[d]), device.name)));
}
