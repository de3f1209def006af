/** Small SVG charts with text alternatives. Their colors are defined in the style sheet. */

import {svg} from './dom.js';

const HEIGHT = 132;
const BOTTOM = 18;
const TOP = 8;

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.9999999);
}

const text = (x, y, words, attributes = {}) => svg('text', {x, y, ...attributes}, words);

/**
 * Draws lines over the last seconds, with gaps for null values.
 *
 * @param series {name, kind, points: [[ago in seconds, value or null]]}; the kind is a class of the style sheet
 * @param format formats a value
 * @param least the least value at the top of the axis
 * @param binary whether the top of the axis is a power of two
 */
export function lines(width, seconds, series, format, {least = 0, binary = false} = {}) {
  const left = 64;
  const values = series.flatMap((each) => each.points.map((point) => point[1])).filter((value) => value !== null);
  const peak = Math.max(...values, least, 1e-6);
  const most = binary ? 2 ** Math.ceil(Math.log2(peak)) : roundUp(peak);
  const x = (ago) => left + (1 - ago / seconds) * (width - left - 8);
  const y = (value) => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const label = series
    .map((each) => {
      const last = each.points.filter((point) => point[1] !== null).at(-1);
      return `${each.name}: ${last ? `last ${format(last[1])}` : 'none'}`;
    })
    .join('; ');
  const chart = svg('svg', {class: 'chart', viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: 'img', 'aria-label': label});
  for (const share of [0, 0.5, 1]) {
    chart.append(svg('line', {x1: left, x2: width - 8, y1: y(most * share), y2: y(most * share), class: share ? 'grid' : 'axis'}));
    chart.append(text(left - 6, y(most * share) + 4, format(most * share), {class: 'end muted'}));
  }
  chart.append(text(left, HEIGHT - 4, `${seconds / 60} min ago`, {class: 'muted'}));
  chart.append(text(width - 8, HEIGHT - 4, 'now', {class: 'end muted'}));
  for (const each of series) {
    let path = '';
    let first = null; // of the part that is being drawn
    let last = null;
    let lastY = null;
    let area = '';
    const close = () => {
      if (first !== null && first === last) chart.append(svg('circle', {cx: first, cy: lastY, r: 2.5, class: each.kind}));
      else if (first !== null) area += `L${last} ${y(0)}L${first} ${y(0)}Z`;
      first = null;
    };
    for (const [ago, value] of each.points) {
      if (value === null) {
        close();
        continue;
      }
      const [px, py] = [x(ago).toFixed(1), y(value).toFixed(1)];
      const step = `${first === null ? 'M' : 'L'}${px} ${py}`;
      path += step;
      area += step;
      first ??= px;
      [last, lastY] = [px, py];
    }
    close();
    chart.append(svg('path', {d: area, class: `area ${each.kind}`}), svg('path', {d: path, class: `line ${each.kind}`}));
  }
  return chart;
}
