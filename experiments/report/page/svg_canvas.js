'use strict';
// Has the canvas methods that gantt.js calls and writes SVG.

class SvgCanvas {
  // context: of a real canvas, which measures texts
  constructor(width, height, card, context) {
    Object.assign(this, {width, height, context, parts: [], clips: 0, stack: [], path: ''});
    this.globalAlpha = 1;
    this.fillStyle = card;
    this.fillRect(0, 0, width, height);
  }

  clearRect() {}
  fillRect(x, y, width, height) {
    this.add('rect', {x, y, width, height, fill: this.fillStyle, 'fill-opacity': this.globalAlpha});
  }
  fillText(text, x, y, most) {
    this.context.font = this.font;
    const long = most && this.context.measureText(text).width > most;
    const anchor = {center: 'middle', right: 'end'}[this.textAlign] || 'start';
    const fitted = long ? {textLength: most, lengthAdjust: 'spacingAndGlyphs'} : {};
    this.add(
        'text',
        {
          x,
          y,
          fill: this.fillStyle,
          'text-anchor': anchor,
          'dominant-baseline': 'central',
          ...fitted
        },
        text);
  }

  beginPath() { this.path = ''; }
  moveTo(x, y) { this.path += `M${round(x)} ${round(y)}`; }
  lineTo(x, y) { this.path += `L${round(x)} ${round(y)}`; }
  closePath() { this.path += 'Z'; }
  rect(x, y, width, height) { this.path += `M${x} ${y}h${width}v${height}h${- width}Z`; }
  fill() {
    this.add('path', {d: this.path, fill: this.fillStyle, 'fill-opacity': this.globalAlpha});
  }
  stroke() { this.add('path', {d: this.path, fill: 'none', stroke: this.strokeStyle}); }

  save() { this.stack.push(0); }
  clip() {
    const id = 'clip' + this.clips++;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath>`);
    this.parts.push(`<g clip-path="url(#${id})">`);
    ++this.stack[this.stack.length - 1];
  }
  restore() { this.parts.push('</g>'.repeat(this.stack.pop())); }

  add(tag, attributes, text) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(attributes))
      if (value !== 1 || key !== 'fill-opacity')
        node.setAttribute(key, typeof value === 'number' ? round(value) : value);
    if (text !== undefined) node.textContent = text;
    this.parts.push(new XMLSerializer().serializeToString(node).replace(
        ' xmlns="http://www.w3.org/2000/svg"', ''));
  }
  text() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${
               this.height}" viewBox="0 0 ${this.width} ${this.height}" font-size="11" ` +
        `font-family="system-ui, DejaVu Sans, sans-serif">${this.parts.join('\n')}</svg>`;
  }
}

const round = (value) => Math.round(100 * value) / 100;
