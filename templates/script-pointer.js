/* Mouse, pen and fingers on a timeline: dragging pans what is zoomed, and else selects a span to zoom into (so does Shift with drag, and
   dragging above the lanes); two fingers and Ctrl with the wheel zoom; pointing tells of a task, a click pins it. */

const LEAST_DRAG = 3; /* pixels; less is a click */

class Pointer {
  constructor(picture) {
    this.picture = picture;
    this.fingers = new Map(); /* by the browser's number: where each is */
    this.drag = null; /* {at, span, selects, moved}; with a finger on the whole timeline, which scrolls the page: {moved: false} */
    this.band = null; /* [left, right] of the span being selected */
    const {canvas} = picture.painter;
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.release(event));
    canvas.addEventListener('pointercancel', (event) => this.abandon(event));
    canvas.addEventListener('pointerleave', () => picture.hint.hide());
    picture.region.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
  }

  press(event) {
    const at = this.picture.point(event);
    const {view, top} = this.picture;
    this.fingers.set(event.pointerId, at);
    if (event.button !== 0) {
      this.drag = null;
    } else if (event.pointerType === 'touch' && !view.span) {
      this.drag = {moved: false};
    } else {
      this.drag = {at, span: view.shown, selects: event.shiftKey || !view.span || at.y < top, moved: false};
      this.picture.painter.canvas.setPointerCapture(event.pointerId);
    }
  }

  move(event) {
    const {picture, drag} = this;
    const at = picture.point(event);
    if (this.fingers.size === 2 && this.fingers.has(event.pointerId) && picture.view.span) {
      this.pinch(event.pointerId, at);
    } else if (!drag || !drag.at) {
      picture.hint.show(event, at);
    } else if (drag.moved || Math.abs(at.x - drag.at.x) > LEAST_DRAG) {
      drag.moved = true;
      picture.hint.hide();
      this.dragTo(at);
    }
  }

  dragTo(at) {
    const {picture, drag} = this;
    if (drag.selects) {
      this.band = [drag.at.x, at.x].sort((a, b) => a - b);
      picture.draw();
    } else {
      const {from, until} = drag.span;
      const by = (drag.at.x - at.x) / picture.view.width * (until - from);
      picture.view.go({from: from + by, until: until + by}, false);
    }
  }

  /* Around the finger that rests. */
  pinch(id, at) {
    const {view} = this.picture;
    const [, other] = Array.from(this.fingers).find(([key]) => key !== id);
    const old = this.fingers.get(id);
    const factor = Math.max(Math.abs(old.x - other.x), 10) / Math.max(Math.abs(at.x - other.x), 10);
    this.fingers.set(id, at);
    this.drag = null;
    view.zoom(factor, view.timeOf(other.x), false);
  }

  release(event) {
    const {picture, drag, band} = this;
    this.abandon(event);
    if (band) {
      const [from, until] = band.map((x) => picture.view.timeOf(x));
      picture.view.go({from, until});
    } else if (drag && !drag.moved) {
      pin(picture.taskAt(picture.point(event)), picture);
    }
  }

  abandon(event) {
    this.fingers.delete(event.pointerId);
    this.drag = null;
    this.band = null;
    this.picture.draw();
  }

  /* Without Ctrl only what goes sideways, so that the page scrolls. */
  wheel(event) {
    const {picture} = this;
    const across = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      picture.view.zoom(wheelFactor(event), picture.view.timeOf(picture.point(event).x), false);
    } else if (picture.view.span && across !== 0 && (event.shiftKey || Math.abs(across) >= Math.abs(event.deltaY))) {
      event.preventDefault();
      picture.view.pan(wheelPixels(event, across) / picture.painter.canvas.clientWidth);
    }
  }
}
