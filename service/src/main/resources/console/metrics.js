/** Reads metrics in Prometheus text format. */

export const PHASES = ['prepare', 'queue', 'upload', 'kernel', 'download', 'total'];

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Yields the samples of the metrics whose name starts with a prefix. */
function* samples(text, prefix) {
  for (const line of text.split('\n')) {
    const match = line.startsWith(prefix) && SAMPLE.exec(line);
    if (!match) continue;
    const labels = Object.fromEntries([...(match[2] ?? '').matchAll(LABEL)].map(([, name, value]) => [name, value]));
    yield {name: match[1], labels, value: Number(match[3])};
  }
}

/** Returns the sum of a gauge over all its labels. */
export function gauge(text, wanted) {
  let sum = 0;
  for (const {name, value} of samples(text, wanted)) if (name === wanted) sum += value;
  return sum;
}

/** Returns how often each op was called with each outcome: `{op, outcome, count}`. */
export const counts = (text) =>
  [...samples(text, 'athanor_op_requests_total')].filter(({value}) => value > 0).map(({labels, value}) => ({op: labels.op, outcome: labels.outcome, count: value}));

const key = (op, phase) => `${op} ${phase}`;
const empty = () => ({count: 0, sum: 0, buckets: new Map()});

/**
 * Parses the latency histograms of ops, summed over dtypes and devices.
 *
 * @return {Map<string, {count: number, sum: number, buckets: Map<number, number>}>} by op and phase;
 *     buckets are cumulative, by their upper bound in seconds
 */
export function parse(text) {
  const histograms = new Map();
  for (const {name, labels, value} of samples(text, 'athanor_op_seconds_')) {
    const part = name.slice('athanor_op_seconds_'.length);
    if (!['bucket', 'count', 'sum'].includes(part)) continue;
    const of = key(labels.op, labels.phase);
    if (!histograms.has(of)) histograms.set(of, empty());
    const histogram = histograms.get(of);
    if (part === 'bucket') {
      const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
      histogram.buckets.set(bound, (histogram.buckets.get(bound) ?? 0) + value);
    } else {
      histogram[part] += value;
    }
  }
  return histograms;
}

/** Returns the histogram of a phase for one op or, if `op` is empty, for all. */
export function total(histograms, op, phase) {
  const result = empty();
  for (const [name, {count, sum, buckets}] of histograms) {
    if (op ? name !== key(op, phase) : !name.endsWith(` ${phase}`)) continue;
    result.count += count;
    result.sum += sum;
    for (const [bound, below] of buckets) result.buckets.set(bound, (result.buckets.get(bound) ?? 0) + below);
  }
  return result;
}

/** Returns the mean of each phase of an op in seconds, 0 for phases without data. */
export const meanPhases = (histograms, op) =>
  Object.fromEntries(PHASES.map((phase) => {
    const {count, sum} = total(histograms, op, phase);
    return [phase, count ? sum / count : 0];
  }));

/**
 * Returns a quantile in seconds, interpolated linearly within its bucket; values above the last finite bound count
 * as that bound. Null if the histogram is empty.
 */
export function quantile(histogram, q) {
  const bounds = [...histogram.buckets.keys()].sort((a, b) => a - b);
  const all = bounds.length ? histogram.buckets.get(bounds.at(-1)) : 0;
  if (!all) return null;
  let below = 0;
  let lower = 0;
  for (const bound of bounds) {
    const count = histogram.buckets.get(bound);
    if (count >= q * all && count > below) {
      return bound === Infinity ? lower : lower + ((q * all - below) / (count - below)) * (bound - lower);
    }
    below = count;
    lower = bound;
  }
  return lower;
}
