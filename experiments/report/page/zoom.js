'use strict';
// The wheel scrolls the page; with a modifier it zooms.
function zoomOnRequest(selection, zoom) {
  selection.call(zoom).on('dblclick.zoom', null);
  const wheel = selection.on('wheel.zoom');
  selection.on('wheel.zoom', function() {
    if (d3.event.ctrlKey || d3.event.metaKey || d3.event.altKey || d3.event.shiftKey)
      wheel.apply(this, arguments);
  });
}
