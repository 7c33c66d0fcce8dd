'use strict';
// Zooms with the wheel and a modifier; without a modifier the wheel scrolls the page.
function zoomOnRequest(selection, zoom) {
  selection.call(zoom).on('dblclick.zoom', null);
  const wheel = selection.on('wheel.zoom');
  selection.on('wheel.zoom', function() {
    if (d3.event.ctrlKey || d3.event.metaKey || d3.event.altKey || d3.event.shiftKey)
      wheel.apply(this, arguments);
  });
}
