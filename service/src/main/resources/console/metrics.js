/** Parses histograms from Prometheus text format and estimates quantiles between two scrapes. */

export const PHASES = ['prepare', 'queue', 'upload', 'kernel', 'download', 'total'];

const LINE = /^athanor_op_seconds_(bucket|count|sum)\{(.*)\} (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

const key = (op, phase) => `${op} ${phase}`;

/**
 * Parses the latency histograms of ops, summed over dtypes and devices.
 *
 * @return {Map<string, {count: number, sum: number, buckets: Map<number, number>}>} by op and phase;
 *     buckets are cumulative, by their upper bound in seconds
 */
export function parse(text) {
  const histograms = new Map();
  for (const line of text.split('\n')) {
    const match = LINE.exec(line);
    if (!match) continue;
    const labels = Object.fromEntries([...match[2].matchAll(LABEL)].map(([, name, value]) => [name, value]));
    const name = key(labels.op, labels.phase);
    if (!histograms.has(name)) histograms.set(name, {count: 0, sum: 0, buckets: new Map()});
    const histogram = histograms.get(name);
    const value = Number(match[3]);
    if (match[1] === 'bucket') {
      const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
      histogram.buckets.set(bound, (histogram.buckets.get(bound) ?? 0) + value);
    } else {
      histogram[match[1]] += value;
    }
  }
  return histograms;
}

/** Returns whether a request has run an op; the histograms also contain the self-test. */
export const hasRequests = (text) => /^athanor_op_requests_total\{.*\} (?!0(\.0)?$)/m.test(text);

/** Returns the difference between two scrapes, for one op or, if `op` is empty, for all. */
export function since(newer, older, op, phase) {
  const result = {count: 0, sum: 0, buckets: new Map()};
  for (const [name, histogram] of newer) {
    if (op ? name !== key(op, phase) : !name.endsWith(` ${phase}`)) continue;
    const before = older?.get(name);
    result.count += histogram.count - (before?.count ?? 0);
    result.sum += histogram.sum - (before?.sum ?? 0);
    for (const [bound, count] of histogram.buckets) {
      result.buckets.set(bound, (result.buckets.get(bound) ?? 0) + count - (before?.buckets.get(bound) ?? 0));
    }
  }
  return result;
}

/** Returns the names of the ops that have latencies. */
export const opsOf = (histograms) => [...new Set([...histograms.keys()].map((name) => name.split(' ')[0]))].sort();

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

/** The recent polls, oldest first. */
export class History {
  #polls = [];
  #seconds;

  constructor(seconds) {
    this.#seconds = seconds;
  }

  add(poll) {
    const last = this.#polls.at(-1);
    // a counter that decreases belongs to a restarted process
    if (last && since(poll.histograms, last.histograms, '', 'total').count < 0) this.#polls = [];
    this.#polls.push(poll);
    this.#polls = this.#polls.filter((each) => each.time >= poll.time - this.#seconds * 1000);
  }

  get polls() {
    return this.#polls;
  }
}
