/** Draws a matrix as a heat map. */

import {element, h} from './dom.js';

/** Color scales from low to high; the diverging one is white at zero. */
const SEQUENTIAL = ['#440154', '#414487', '#2a788e', '#22a884', '#7ad151', '#fde725'].map(rgb);
const DIVERGING = ['#2166ac', '#92c5de', '#f7f7f7', '#f4a582', '#b2182b'].map(rgb);
const NOT_A_NUMBER = rgb('#ff00c8');
const INFINITE = rgb('#000000');

/** Maximum extent of the image in pixels; larger matrices are sampled. */
const MOST_POINTS = 1024;

const WIDTH = 480;
const HEIGHT = 320;
const LARGEST_CELL = 28;

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function mix(palette, share) {
  const place = share * (palette.length - 1);
  const i = Math.min(Math.floor(place), palette.length - 2);
  return palette[i].map((low, channel) => Math.round(low + (place - i) * (palette[i + 1][channel] - low)));
}

function summary(values) {
  const found = {min: Infinity, max: -Infinity, nan: 0, infinite: 0};
  for (const value of values) {
    if (Number.isNaN(value)) found.nan++;
    else if (!Number.isFinite(value)) found.infinite++;
    else {
      found.min = Math.min(found.min, value);
      found.max = Math.max(found.max, value);
    }
  }
  return found;
}

/** Maps numbers to colors. */
function colours({min, max}) {
  const diverging = min < 0 && max > 0;
  const size = Math.max(-min, max);
  const [low, high] = diverging ? [-size, size] : [min, max];
  const palette = diverging ? DIVERGING : SEQUENTIAL;
  const colour = (value) => {
    if (Number.isNaN(value)) return NOT_A_NUMBER;
    if (!Number.isFinite(value)) return INFINITE;
    return mix(palette, high > low ? (value - low) / (high - low) : 0.5);
  };
  return {low, high, colour};
}

function paint(canvas, colourAt) {
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, canvas.height);
  for (let y = 0, at = 0; y < canvas.height; y++) {
    for (let x = 0; x < canvas.width; x++, at += 4) {
      image.data.set(colourAt(y, x), at);
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

function legend({low, high, colour}, found) {
  const scale = h('canvas', {class: 'scale', width: 128, height: 1, 'aria-hidden': 'true'});
  const swatch = (kind, count, name) => (count ? h('span', {class: `swatch ${kind}`}, `${count} ${name}`) : null);
  const finite = found.min <= found.max;
  if (finite) paint(scale, (_, x) => colour(low + (x / 127) * (high - low)));
  return h(
    'figcaption',
    {class: 'legend'},
    ...(finite ? [h('span', {}, element(low)), scale, h('span', {}, element(high)), h('span', {class: 'muted'}, `min ${element(found.min)}, max ${element(found.max)}`)] : []),
    swatch('nan', found.nan, 'NaN'),
    swatch('infinite', found.infinite, 'infinite'),
  );
}

/** Draws row-major numbers; the arrow keys and the pointer show single values. */
export function heatmap(values, rows, columns) {
  const found = summary(values);
  const scale = colours(found);
  const step = Math.ceil(Math.max(rows, columns) / MOST_POINTS);
  const [width, height] = [Math.ceil(columns / step), Math.ceil(rows / step)];
  const words = `${rows} by ${columns} values from ${element(found.min)} to ${element(found.max)}, ${found.nan} NaN`;
  const canvas = h('canvas', {class: 'heatmap', width, height, tabindex: '0', role: 'img', 'aria-label': `${words}; use the arrow keys to read values`});
  paint(canvas, (y, x) => scale.colour(values[y * step * columns + x * step]));
  canvas.style.width = `${Math.min(WIDTH, width * LARGEST_CELL)}px`;
  canvas.style.height = `${Math.max(Math.min(HEIGHT, height * LARGEST_CELL), 8)}px`;

  const readout = h('output', {class: 'readout'}, step > 1 ? `Showing one of every ${step} rows and columns.` : 'Point at a cell to see its value.');
  let [row, column] = [0, 0];
  const read = (y, x) => {
    row = Math.min(Math.max(y, 0), rows - 1);
    column = Math.min(Math.max(x, 0), columns - 1);
    readout.textContent = `[${row}, ${column}] = ${element(values[row * columns + column])}`;
  };
  canvas.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect();
    read(Math.floor(((event.clientY - box.top) / box.height) * rows), Math.floor(((event.clientX - box.left) / box.width) * columns));
  });
  canvas.addEventListener('focus', () => read(row, column));
  const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
  canvas.addEventListener('keydown', (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    read(row + move[0] * step, column + move[1] * step);
  });
  return h('figure', {class: 'matrix'}, canvas, legend(scale, found), readout);
}
