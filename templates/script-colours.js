/* The colours of the style sheet, as the canvas needs them. They change when the reader's system turns from light to dark. */

const colours = {fills: new Map(), style: null};

const colourOf = (css) => {
  colours.style = colours.style || getComputedStyle(document.documentElement);
  return colours.style.getPropertyValue('--' + css).trim();
};

const forgetColours = () => {
  colours.fills.clear();
  colours.style = null;
};

/* Stripes of a second colour. */
const hatched = (context, first, second) => {
  const tile = create('canvas', '', {width: 7, height: 7});
  const pen = tile.getContext('2d');
  pen.fillStyle = first;
  pen.fillRect(0, 0, 7, 7);
  pen.strokeStyle = second;
  pen.lineWidth = 2;
  pen.lineCap = 'square';
  pen.beginPath();
  for (const shift of [-7, 0, 7]) {
    pen.moveTo(shift, 7);
    pen.lineTo(shift + 7, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat');
};

/* What fills a kind's marks. */
const fillOf = (context, css) => {
  if (!colours.fills.has(css)) {
    const second = colourOf(css + '-second');
    colours.fills.set(css, second ? hatched(context, colourOf(css), second) : colourOf(css));
  }
  return colours.fills.get(css);
};
