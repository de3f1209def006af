/** Small SVG charts with text alternatives. Their colors are defined in the style sheet. */

import {duration, svg} from './dom.js';

const HEIGHT = 132;
const BOTTOM = 18;
const TOP = 8;

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.9999999);
}

function frame(width, height, label) {
  return svg('svg', {class: 'chart', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label});
}

const text = (x, y, words, attributes = {}) => svg('text', {x, y, ...attributes}, words);

/**
 * Draws median and 95th percentile by phase.
 *
 * @param rows {phase, p50, p95} in seconds, null without data
 */
export function phaseBars(width, rows) {
  const left = 66;
  const right = 116;
  const step = (HEIGHT - TOP) / rows.length;
  const most = roundUp(Math.max(...rows.map((row) => row.p95 ?? 0), 1e-6));
  const scale = (seconds) => (seconds / most) * Math.max(width - left - right, 10);
  const label = rows
    .map((row) => `${row.phase}: ${row.p50 === null ? 'none' : `median ${duration(row.p50)}, p95 ${duration(row.p95)}`}`)
    .join('; ');
  const chart = frame(width, HEIGHT, label);
  rows.forEach((row, i) => {
    const y = TOP + i * step;
    chart.append(text(left - 8, y + step / 2 + 4, row.phase, {class: 'end'}));
    chart.append(svg('line', {x1: left, x2: left, y1: y, y2: y + step, class: 'axis'}));
    if (row.p50 === null) {
      chart.append(text(left + 8, y + step / 2 + 4, '–', {class: 'muted'}));
      return;
    }
    const bar = (seconds, kind) =>
      svg('rect', {x: left, y: y + 4, width: Math.max(scale(seconds), 1), height: step - 8, class: `${row.phase} ${kind}`});
    chart.append(bar(row.p95, 'p95'), bar(row.p50, 'p50'));
    chart.append(text(left + scale(row.p95) + 6, y + step / 2 + 4, `${duration(row.p50)} · ${duration(row.p95)}`));
  });
  return chart;
}

/**
 * Draws lines over the last seconds, with gaps for null values.
 *
 * @param series {name, points: [[ago in seconds, value or null]], stepped}
 * @param format formats a value
 */
export function lines(width, seconds, series, format, least = 0) {
  const left = 56;
  const values = series.flatMap((each) => each.points.map((point) => point[1])).filter((value) => value !== null);
  const most = roundUp(Math.max(...values, least, 1e-6));
  const x = (ago) => left + (1 - ago / seconds) * (width - left - 8);
  const y = (value) => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const label = series
    .map((each) => {
      const last = each.points.filter((point) => point[1] !== null).at(-1);
      return `${each.name}: ${last ? `last ${format(last[1])}` : 'none'}`;
    })
    .join('; ');
  const chart = frame(width, HEIGHT, label);
  for (const share of [0, 0.5, 1]) {
    chart.append(svg('line', {x1: left, x2: width - 8, y1: y(most * share), y2: y(most * share), class: share ? 'grid' : 'axis'}));
    chart.append(text(left - 6, y(most * share) + 4, format(most * share), {class: 'end muted'}));
  }
  chart.append(text(left, HEIGHT - 4, `${seconds} s ago`, {class: 'muted'}));
  chart.append(text(width - 8, HEIGHT - 4, 'now', {class: 'end muted'}));
  series.forEach((each, i) => {
    let path = '';
    let drawing = false;
    for (const [ago, value] of each.points) {
      if (value === null) {
        drawing = false;
        continue;
      }
      const [px, py] = [x(ago).toFixed(1), y(value).toFixed(1)];
      if (each.stepped && drawing) path += `H${px}V${py}`;
      else path += `${drawing ? 'L' : 'M'}${px} ${py}`;
      if (!each.stepped) chart.append(svg('circle', {cx: px, cy: py, r: 1.6, class: `series${i}`}));
      drawing = true;
    }
    chart.append(svg('path', {d: path, class: `line series${i}`}));
  });
  return chart;
}
