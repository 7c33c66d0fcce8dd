'use strict';
// The canvas of the timeline: lanes of bars, memory below, zoom, and details of the item under the
// mouse.

class Gantt {
  constructor(problem, decoded, canvas, colourOf) {
    Object.assign(
        this, {problem, decoded, canvas, colourOf, left: 130, top: 26, row: 24, plot: 58});
    this.colours = Colours.devices(problem.cluster);
    this.step = Math.max(1, problem.timeline.step_time_ns);
    this.width = Math.max(320, canvas.clientWidth || 1300);
    this.lanesEnd = this.top + this.row * decoded.lanes.length;
    this.height = this.lanesEnd + 16 + this.plot * problem.timeline.memory.length;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = this.width * ratio;
    canvas.height = this.height * ratio;
    canvas.style.height = this.height + 'px';
    this.context = canvas.getContext('2d');
    this.context.scale(ratio, ratio);
    this.x = d3.scale.linear().domain([0, this.step]).range([this.left, this.width - 12]);
    this.zoom = d3.behavior.zoom()
                    .x(this.x)
                    .scaleExtent([1, Math.max(1, this.step / 1000)])
                    .on('zoom', () => {
                      this.hold();
                      this.draw();
                    });
    const selection = d3.select(canvas);
    zoomOnRequest(selection, this.zoom);
    selection.on('mousemove', () => this.tell())
        .on('mouseleave', Tooltip.hide)
        .on('keydown', () => this.key());
    this.draw();
  }

  // Returns the current picture as an SVG file.
  svg() {
    const canvas = this.context;
    this.context = new SvgCanvas(this.width, this.height, Colours.css('card'), canvas);
    this.draw();
    const text = this.context.text();
    this.context = canvas;
    return text;
  }

  // Keeps the step in view.
  hold() {
    const [from, to] = this.x.range(), scale = this.zoom.scale();
    const t =
        Math.min(from * (1 - scale) + 0 * to, Math.max(to * (1 - scale), this.zoom.translate()[0]));
    this.zoom.translate([t, 0]);
  }

  zoomBy(factor) {
    const [from, to] = this.x.range(), centre = (from + to) / 2,
                 [low, high] = this.zoom.scaleExtent();
    const scale = Math.min(high, Math.max(low, this.zoom.scale() * factor)),
          real = scale / this.zoom.scale();
    const t = centre - (centre - this.zoom.translate()[0]) * real;
    this.zoom.scale(scale).translate([t, 0]);
    this.hold();
    this.draw();
  }
  moveBy(pixels) {
    this.zoom.translate([this.zoom.translate()[0] + pixels, 0]);
    this.hold();
    this.draw();
  }
  reset() {
    this.zoom.scale(1).translate([0, 0]);
    this.draw();
  }
  key() {
    const act = {
      ArrowLeft: () => this.moveBy(80),
      ArrowRight: () => this.moveBy(-80),
      '+': () => this.zoomBy(1.6),
      '=': () => this.zoomBy(1.6),
      '-': () => this.zoomBy(1 / 1.6),
      0: () => this.reset(),
      Home: () => this.reset()
    }[d3.event.key];
    if (!act) return;
    d3.event.preventDefault();
    act();
  }

  // Returns the first of a lane's items that may reach `time`.
  first(items, time) {
    let i = d3.bisector((item) => item.start).left(items, time);
    while (i > 0 && items[i - 1].start + items[i - 1].length > time) --i;
    return i;
  }

  draw() {
    const c = this.context, x = this.x, [from, to] = x.range(), [begin, end] = x.domain();
    const ink = Colours.css('ink'), soft = Colours.css('soft'), grid = Colours.css('line'),
          faint = Colours.css('faint');
    c.clearRect(0, 0, this.width, this.height);
    c.font = '11px system-ui, DejaVu Sans, sans-serif';
    c.textBaseline = 'middle';
    this.drawn = 0;
    const ticks = x.ticks(Math.max(3, Math.floor((to - from) / 130)));
    for (const tick of ticks) {
      c.fillStyle = grid;
      c.fillRect(Math.round(x(tick)), this.top - 6, 1, this.height - this.top + 6);
      c.fillStyle = soft;
      c.textAlign = x(tick) > to - 30 ? 'right' : 'center';
      c.fillText(this.tickText(tick, ticks), x(tick), 10);
    }
    this.decoded.lanes.forEach((lane, i) => {
      const y = this.top + i * this.row;
      c.fillStyle = faint;
      c.fillRect(from, y + 2, to - from, this.row - 4);
      this.label(
          lane.name,
          y + this.row / 2,
          lane.device === null ? null : this.colours[lane.device],
          ink);
      this.drawLane(lane, y + 2, this.row - 4, begin, end);
    });
    this.problem.timeline.memory.forEach(
        (memory, i) =>
            this.drawMemory(memory, this.lanesEnd + 16 + i * this.plot, ink, soft, faint));
    this.canvas.dataset.drawn = this.drawn;
  }

  label(text, y, colour, ink) {
    const c = this.context;
    c.textAlign = 'left';
    if (colour) {
      c.fillStyle = colour;
      c.fillRect(0, y - 6, 12, 12);
    }
    c.fillStyle = ink;
    c.fillText(text, colour ? 18 : 0, y, this.left - 24);
  }

  tickText(tick, ticks) {
    const gap = ticks.length > 1 ? ticks[1] - ticks[0] : this.step;
    const [size, unit] = this.step >= 1e9 && gap >= 1e7 ? [1e9, 's'] :
        gap >= 1e4                                      ? [1e6, 'ms'] :
                                                          [1e3, 'µs'];
    return (tick / size).toFixed(Math.max(0, Math.ceil(-Math.log10(gap / size) - 1e-9))) + ' ' +
        unit;
  }

  // Draws bars of less than a pixel that fall into the same pixel as one bar, in the colour of the
  // longest.
  drawLane(lane, y, height, begin, end) {
    const c = this.context, [from, to] = this.x.range();
    let pixel = -1, longest = -1;
    for (let i = this.first(lane.items, begin); i < lane.items.length && lane.items[i].start <= end;
         ++i) {
      const item = lane.items[i], left = Math.max(from, this.x(item.start)),
            right = Math.min(to, this.x(item.start + item.length));
      const width = right - left;
      if (width < 1) {
        const at = Math.floor(left);
        if (at === pixel && item.length <= longest) continue;
        longest = at === pixel ? item.length : Math.max(item.length, 0);
        pixel = at;
        c.fillStyle = this.colourOf(lane, item);
        c.fillRect(at, y, 1, height);
      } else {
        c.fillStyle = this.colourOf(lane, item);
        c.fillRect(left, y, width > 3 ? width - 0.6 : width, height);
        if (width > 46) this.barText(lane, item, left, y, width, height);
      }
      ++this.drawn;
    }
  }

  barText(lane, item, left, y, width, height) {
    const c = this.context, name = opName(this.problem, item.op),
          room = Math.floor((width - 6) / 6.2);
    if (room < 5) return;
    c.fillStyle = Colours.inkOn(this.colourOf(lane, item));
    c.textAlign = 'left';
    c.fillText(
        name.length > room ? '…' + name.slice(-(room - 1)) : name,
        left + 3,
        y + height / 2,
        width - 5);
  }

  drawMemory(memory, y, ink, soft, faint) {
    const c = this.context, [from, to] = this.x.range(), height = this.plot - 10,
          device = this.problem.cluster.devices[memory.device];
    const peak = d3.max(memory.bytes) || 0, capacity = memory.capacity;
    const most = 1.08 * Math.max(1, peak, capacity || 0);
    const scale = (bytes) => y + height - height * bytes / most;
    c.fillStyle = faint;
    c.fillRect(from, y, to - from, height);
    this.label(device.name, y + 8, this.colours[memory.device], ink);
    c.fillStyle = soft;
    c.fillText('peak ' + Format.bytes(peak), 0, y + 23, this.left - 6);
    const limit = capacity === null ?
        'no capacity given' :
        `${Format.percent(peak / capacity)} of ${Format.bytes(capacity)}`;
    c.fillText(limit, 0, y + 36, this.left - 6);
    c.save();
    c.beginPath();
    c.rect(from, y, to - from, height);
    c.clip();
    c.beginPath();
    c.moveTo(this.x(memory.time[0] || 0), y + height);
    let at = 0;
    memory.time.forEach((time, i) => {
      c.lineTo(this.x(time), scale(at));
      at = memory.bytes[i];
      c.lineTo(this.x(time), scale(at));
    });
    c.lineTo(this.x(this.step), scale(at));
    c.lineTo(this.x(this.step), y + height);
    c.closePath();
    c.fillStyle = this.colours[memory.device];
    c.strokeStyle = this.colours[memory.device];
    c.globalAlpha = 0.65;
    c.fill();
    c.globalAlpha = 1;
    c.stroke();  // makes small use visible
    if (capacity !== null) {
      c.fillStyle = Colours.css('capacity');
      c.fillRect(from, scale(capacity) - 0.75, to - from, 1.5);
    }
    c.restore();
  }

  tell() {
    const [px, py] = d3.mouse(this.canvas), time = this.x.invert(px),
               devices = this.problem.cluster.devices;
    if (px < this.left) return Tooltip.hide();
    const lane = this.decoded.lanes[Math.floor((py - this.top) / this.row)];
    if (py >= this.top && lane) return this.tellLane(lane, time);
    const memory = this.problem.timeline.memory[Math.floor((py - this.lanesEnd - 16) / this.plot)];
    if (!memory || py < this.lanesEnd + 16) return Tooltip.hide();
    const i = d3.bisectRight(memory.time, time) - 1;
    const used = i < 0 ? 0 : memory.bytes[i];
    Tooltip.show(d3.event, [
      `${devices[memory.device].name}: ${Format.bytes(used)}`,
      memory.capacity === null ?
          null :
          `${Format.percent(used / memory.capacity)} of ${Format.bytes(memory.capacity)}`,
      `at ${Format.time(time)}`
    ]);
  }

  tellLane(lane, time) {
    const near = 2 / (this.x(1) - this.x(0)), graph = report.graphs[this.problem.graph];
    let best = null, off = near;
    for (let i = this.first(lane.items, time - near);
         i < lane.items.length && lane.items[i].start <= time + near;
         ++i) {
      const item = lane.items[i],
            distance = Math.max(0, item.start - time, time - item.start - item.length);
      if (distance < off || (best && distance === off && item.length > best.length))
        [best, off] = [item, distance];
    }
    if (!best) return Tooltip.hide();
    const when = [
      `from ${Format.time(best.start)} for ${Format.time(best.length)}`,
      best.wait > 0 ? `ready ${Format.time(best.wait)} earlier` : null
    ];
    const name = opName(this.problem, best.op);
    if (best.bytes !== undefined) {
      Tooltip.show(d3.event, [
        `${Format.bytes(best.bytes)} to ${
            best.to.map((d) => this.problem.cluster.devices[d].name).join(', ')}`,
        `made by ${name}`,
        ...when,
        best.latency > 0 ? `arrives ${Format.time(best.latency)} later` : null
      ]);
    } else {
      Tooltip.show(
          d3.event,
          [name, `${graph.kinds[graph.kind[best.op]]}, ${PHASES[+graph.phase[best.op]]}`, ...when]);
    }
  }
}
