'use strict';
// Step times as dots: one for each seed, with a bar at the median.

// rows: [{label, series: [{name, colour, symbol, values: [number or null], median, lines}]}]. null:
// does not fit; drawn as a triangle at the right end, as are values outside the picture.
// options: {name, axis, format, least, most, rules: [{at, text, colour}], onclick}
function drawDots(holder, rows, {name, axis, format, least, most, rules, onclick}) {
  const width = Math.max(300, holder.clientWidth || 1000), right = 26, foot = 40;
  const top = 6 + 14 * rules.length;
  const longest = d3.max(rows, (row) => row.label.length);
  const left = Math.min(7.2 * longest + 16, width * 0.36), room = Math.floor((left - 12) / 7);
  // Rows of large sweeps are narrower.
  const pitch = Math.max(4, Math.min(14, 900 / d3.sum(rows, (row) => row.series.length)));
  const heightOf = (row) => 12 + pitch * row.series.length;
  const height = top + d3.sum(rows, heightOf) + foot;
  const x = d3.scale.linear().domain([least, most]).range([left, width - right]);
  const svg = d3.select(holder).append('svg').attr(
      {viewBox: `0 0 ${width} ${height}`, width, role: 'img', 'aria-label': name});
  svg.append('g')
      .attr({class: 'axis', transform: `translate(0,${height - foot})`})
      .call(d3.svg.axis()
                .scale(x)
                .orient('bottom')
                .ticks(Math.max(3, Math.floor(width / 130)))
                .tickFormat(format || timeTicks(x))
                .innerTickSize(top - height + foot)
                .tickPadding(6));
  svg.append('text').attr({x: width - right, y: height - 4, 'text-anchor': 'end'}).text(axis);
  rules.forEach(({at, text, colour}, i) => {
    if (at === null || at > most) return;
    svg.append('line')
        .attr({class: 'rule', x1: x(at), x2: x(at), y1: top - 4 - 14 * i, y2: height - foot})
        .style('stroke', colour);
    const end = x(at) > width - 6.6 * text.length;
    svg.append('text')
        .attr(
            {x: x(at) + (end ? -4 : 4), y: top - 7 - 14 * i, 'text-anchor': end ? 'end' : 'start'})
        .style('fill', colour)
        .text(text);
  });
  let y = top;
  rows.forEach((row, index) => {
    const line = svg.append('g').attr({class: 'dots', 'data-row': row.label});
    if (onclick) line.classed('link', true).on('click', () => onclick(index));
    line.append('rect').attr({x: 0, y, width, height: heightOf(row)}).style({
      fill: Colours.css('faint'),
      'fill-opacity': index % 2 ? 0 : 0.5
    });
    const label = shortened(row.label, room);
    line.append('text')
        .attr({x: left - 8, y: y + heightOf(row) / 2 + 4, 'text-anchor': 'end'})
        .text(label);
    row.series.forEach(
        (series, i) =>
            drawSeries(line, series, {middle: y + 6 + pitch * (i + 0.5), pitch, x, most}));
    y += heightOf(row);
  });
  return svg.node();
}

// Shortens a label in the middle, because labels often differ at their ends.
function shortened(text, length) {
  if (text.length <= length) return text;
  const half = Math.floor((length - 1) / 2);
  return text.slice(0, length - 1 - half) + '…' + text.slice(text.length - half);
}

function drawSeries(line, series, {middle, pitch, x, most}) {
  const group =
      line.append('g').attr({'data-agent': series.name, 'data-dots': series.values.length});
  const beyond = (value) => value === null || value > most;
  series.values.forEach((value, i) => {
    if (beyond(value))
      group.append('path')
          .attr({
            d: d3.svg.symbol().type('triangle-up').size(2.4 * pitch)(),
            transform: `translate(${x(most) + 8 + 3 * (i % 5)},${middle}) rotate(90)`
          })
          .style('fill', series.colour);
    else
      group.append('path')
          .attr({
            class: 'dot',
            d: d3.svg.symbol().type(series.symbol).size(2.9 * pitch)(),
            transform: `translate(${x(value)},${middle})`,
            'data-value': value
          })
          .style({fill: series.colour, 'fill-opacity': 0.55});
  });
  if (series.median !== null && !beyond(series.median))
    group.append('line')
        .attr({
          class: 'median',
          x1: x(series.median),
          x2: x(series.median),
          y1: middle - pitch / 2,
          y2: middle + pitch / 2,
          'data-at': series.median
        })
        .style({stroke: series.colour, 'stroke-width': 3});
  group.on('mousemove', () => Tooltip.show(d3.event, series.lines)).on('mouseleave', Tooltip.hide);
}
