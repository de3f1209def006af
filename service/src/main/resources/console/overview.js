/** The overview: totals, the last minutes, ops, slow and failed requests, and devices. */

import {lines} from './charts.js';
import {bytes, digits, duration, errorLine, h, setText, table} from './dom.js';
import {PHASES, counts, gauge, meanPhases, parse, quantile, total} from './metrics.js';

const MEDIAN = 0.5;
const TAIL = 0.95;

/** The period of the charts; the service keeps samples for as long. */
const SECONDS = 600;

const time = (moment) => h('time', {datetime: moment}, new Date(moment).toLocaleTimeString());
const code = (text) => h('code', {}, text);
const trace = (id) => (id ? code(id) : '–');

function ago(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

/** Draws phases, in seconds, as parts of a bar; the rest of the total is other work of the host. */
function phaseBar(seconds) {
  const parts = PHASES.filter((phase) => phase !== 'total');
  const label = parts.map((phase) => `${phase} ${duration(seconds[phase])}`).join(', ');
  const bar = h('div', {class: 'bar', role: 'img', 'aria-label': label, title: label});
  const whole = Math.max(seconds.total, parts.reduce((sum, phase) => sum + seconds[phase], 0), 1e-7);
  for (const phase of parts) {
    const part = h('span', {class: phase});
    part.style.width = `${(100 * seconds[phase]) / whole}%`;
    bar.append(part);
  }
  return bar;
}

const phaseKey = () =>
  h('p', {class: 'muted keys'}, ...PHASES.map((phase) => h('span', {class: `key ${phase}`}, phase === 'total' ? 'other' : phase)));

function deviceCard() {
  const parts = {
    name: h('h3'),
    health: h('span', {class: 'badge'}),
    facts: h('p', {class: 'muted'}),
    used: h('span', {class: 'used'}),
    pooled: h('span', {class: 'pooled'}),
    memory: h('p'),
    load: h('p', {class: 'muted'}),
  };
  const card = h(
    'article',
    {class: 'panel device'},
    h('div', {class: 'row'}, parts.name, parts.health),
    parts.facts,
    h('div', {class: 'bar', 'aria-hidden': 'true'}, parts.used, parts.pooled),
    parts.memory,
    parts.load,
  );
  return {card, parts};
}

function updateCard(parts, device) {
  const {used, pooled, free} = device.memory;
  const all = Math.max(used + pooled + free, 1);
  setText(parts.name, `${device.id} · ${device.name}`);
  setText(parts.health, device.health);
  parts.health.dataset.health = device.health;
  setText(parts.facts, `${device.target}, driver ${device.driver}, ${device.multiprocessors} multiprocessors`);
  parts.used.style.width = `${(100 * used) / all}%`;
  parts.pooled.style.width = `${(100 * pooled) / all}%`;
  setText(parts.memory, `${bytes(used)} used, ${bytes(pooled)} pooled, ${bytes(free)} free`);
  setText(parts.load, `${device.queueDepth} jobs waiting, ${device.streamsBusy} of ${device.streams} streams busy`);
}

export class Overview {
  #notice = h('div', {id: 'notice'});
  #body = h('div', {class: 'stack', hidden: true});
  #started = h('span', {class: 'muted'});
  #tiles = {};
  #charts = {};
  #samples = [];
  #cards = new Map();
  #devices = h('div', {class: 'cards'});
  #about = h('div', {class: 'stack', hidden: true});
  #ops = table('ops', 'op', 'requests.', 'errors.', 'median.', 'p95.', 'mean by phase');
  #errors = table('errors', 'error', 'requests.', 'ops');
  #slowest = table('slowest', 'time', 'op', 'device', 'total.', 'by phase', 'trace id');
  #failures = table('failures', 'time', 'op', 'error', 'message', 'trace id');
  #called = h('div', {class: 'stack', hidden: true});
  #failed = h('div', {class: 'stack', hidden: true});

  constructor(section) {
    const tile = (name, title) => {
      this.#tiles[name] = {value: h('dd', {class: 'value', id: `total-${name}`}), more: h('dd', {class: 'muted'})};
      return h('div', {class: 'panel'}, h('dt', {}, title), this.#tiles[name].value, this.#tiles[name].more);
    };
    const chart = (name, title, ...keys) => {
      this.#charts[name] = h('div', {class: 'plot', id: `chart-${name}`});
      const legend = keys.map(([kind, words]) => h('span', {class: `key ${kind}`}, words));
      return h('figure', {class: 'panel'}, h('figcaption', {}, title, ...legend), this.#charts[name]);
    };
    const panel = (title, list, ...more) => h('section', {class: 'panel', 'aria-label': title}, h('h2', {}, title), ...more, list.element);
    this.#called.append(panel('Busiest ops', this.#ops, phaseKey()), panel('Slowest requests of the last ten minutes', this.#slowest, phaseKey()));
    this.#failed.append(panel('Errors by kind', this.#errors), panel('Last failures', this.#failures));
    this.#body.append(
      h('div', {class: 'row'}, h('h2', {}, 'Totals'), this.#started),
      h(
        'dl',
        {class: 'tiles'},
        tile('requests', 'Requests'),
        tile('errors', 'Errors'),
        tile('latency', 'Median latency'),
        tile('queue', 'Jobs waiting'),
        tile('tensors', 'Resident tensors'),
        tile('memory', 'Device memory'),
      ),
      h('h2', {}, 'Last ten minutes'),
      h(
        'div',
        {class: 'charts'},
        chart('rate', 'Requests per second', ['series0', 'all'], ['failed', 'failed']),
        chart('latency', 'Mean latency'),
        chart('load', 'Load', ['series0', 'jobs waiting'], ['series1', 'streams busy']),
        chart('memory', 'Device memory', ['series0', 'used'], ['series1', 'pooled']),
      ),
      this.#called,
      this.#failed,
    );
    this.#about.append(h('h2', {}, 'Devices'), this.#devices);
    section.append(this.#notice, this.#body, this.#about);
    addEventListener('resize', () => this.#drawCharts());
  }

  /**
   * Shows the state of the service.
   *
   * @param metrics the text of GET /metrics
   * @param recent the response of GET /recent
   */
  update(devices, metrics, recent) {
    this.#body.hidden = false;
    const requests = counts(metrics);
    const histograms = parse(metrics);
    this.#samples = recent.load;
    this.#sayTotals(devices, metrics, requests, histograms);
    this.#drawCharts();
    this.#called.hidden = requests.length === 0;
    this.#ops.fill(this.#opRows(requests, histograms));
    this.#slowest.fill(recent.slowest.map(({time: ended, op, device, timing, traceId}) => {
      const seconds = Object.fromEntries(PHASES.map((phase) => [phase, timing[`${phase}Micros`] / 1e6]));
      return [time(ended), op, device, duration(seconds.total), phaseBar(seconds), trace(traceId)];
    }));
    const errors = requests.filter((each) => each.outcome !== 'ok');
    this.#failed.hidden = errors.length === 0;
    this.#errors.fill(this.#errorRows(errors));
    this.#failures.fill(recent.failures.map((each) => [
      time(each.time), each.op, each.code, each.detail ?? 'not shown: a request of another tenant', trace(each.traceId),
    ]));
    if (requests.length) this.#say('');
    else this.#say('empty', h('p', {class: 'panel empty'}, 'No op has run yet. ', h('a', {href: '#run'}, 'Run one'), ' or POST to /ops/{op}; it appears here within seconds.'));
  }

  /** Shows why metrics cannot be read; the page keeps what it last showed. */
  fail(failure) {
    this.#say('metrics', errorLine({message: `Cannot read the metrics: ${failure.message} Try GET /metrics with the same credentials.`}));
  }

  /** Hides everything, and shows the reason. */
  refuse(sentence) {
    this.#body.hidden = true;
    this.#about.hidden = true;
    this.#say('refused', h('p', {class: 'panel empty', role: 'status'}, sentence));
  }

  /** Replaces the notice only if it differs, so that focus and screen readers are not disturbed. */
  #say(kind, ...notice) {
    const text = notice.map((each) => each.textContent).join();
    if (this.#notice.dataset.kind === kind && this.#notice.textContent === text) return;
    this.#notice.dataset.kind = kind;
    this.#notice.replaceChildren(...notice);
  }

  shown() {
    this.#drawCharts();
  }

  #sayTotals(devices, metrics, requests, histograms) {
    const sum = (list, value) => list.reduce((all, each) => all + value(each), 0);
    const all = sum(requests, (each) => each.count);
    const failed = sum(requests.filter((each) => each.outcome !== 'ok'), (each) => each.count);
    const now = this.#changes().at(-1);
    const latency = total(histograms, '', 'total');
    const tail = quantile(latency, TAIL);
    const used = sum(devices, (each) => each.memory.used);
    const put = (name, value, more) => {
      setText(this.#tiles[name].value, value);
      setText(this.#tiles[name].more, more);
    };
    setText(this.#started, `since the start, ${ago(gauge(metrics, 'process_uptime_seconds'))} ago`);
    put('requests', all.toLocaleString('en'), now ? `${digits(now.requests / now.seconds)} per second now` : 'no rate yet');
    this.#tiles.errors.value.toggleAttribute('data-bad', failed > 0);
    put('errors', failed.toLocaleString('en'), all ? `${digits((100 * failed) / all)} % of all requests` : 'none');
    put('latency', all ? duration(quantile(latency, MEDIAN) ?? 0) : '–', all && tail !== null ? `p95 ${duration(tail)}` : 'no requests yet');
    put('queue', String(sum(devices, (each) => each.queueDepth)), `${sum(devices, (each) => each.streamsBusy)} of ${sum(devices, (each) => each.streams)} streams busy`);
    put('tensors', gauge(metrics, 'athanor_tensors').toLocaleString('en'), bytes(gauge(metrics, 'athanor_tensor_bytes')));
    put('memory', bytes(used), `of ${bytes(sum(devices, (each) => each.memory.used + each.memory.pooled + each.memory.free))}`);
  }

  /** Returns the differences between successive samples. A counter that decreases belongs to a restarted service. */
  #changes() {
    return this.#samples.slice(1).flatMap((sample, i) => {
      const before = this.#samples[i];
      const minus = (name) => sample[name] - before[name];
      const seconds = (new Date(sample.time) - new Date(before.time)) / 1000;
      if (seconds <= 0 || minus('requests') < 0) return [];
      return {time: sample.time, seconds, requests: minus('requests'), errors: minus('errors'), completed: minus('completed'), micros: minus('completedMicros')};
    });
  }

  #drawCharts() {
    if (!this.#samples.length || !this.#body.offsetParent) return; // no data, or the view is hidden
    const newest = new Date(this.#samples.at(-1).time);
    const series = (name, kind, list, value) => ({name, kind, points: list.map((each) => [(newest - new Date(each.time)) / 1000, value(each)])});
    const put = (name, list, format, options) => {
      const place = this.#charts[name];
      place.replaceChildren(lines(Math.max(place.clientWidth, 200), SECONDS, list, format, options));
    };
    const changes = this.#changes();
    put('rate', [series('all', 'series0', changes, (each) => each.requests / each.seconds), series('failed', 'failed', changes, (each) => each.errors / each.seconds)], digits, {least: 1});
    put('latency', [series('mean', 'series0', changes, (each) => (each.completed ? each.micros / each.completed / 1e6 : null))], duration);
    put('load', [series('waiting', 'series0', this.#samples, (each) => each.queueDepth), series('busy', 'series1', this.#samples, (each) => each.streamsBusy)], digits, {least: 2});
    put('memory', [series('used', 'series0', this.#samples, (each) => each.memoryUsed), series('pooled', 'series1', this.#samples, (each) => each.memoryPooled)], bytes, {least: 1024, binary: true});
  }

  #opRows(requests, histograms) {
    const ops = new Map();
    for (const {op, outcome, count} of requests) {
      const row = ops.get(op) ?? {all: 0, failed: 0};
      row.all += count;
      if (outcome !== 'ok') row.failed += count;
      ops.set(op, row);
    }
    return [...ops].sort((a, b) => b[1].all - a[1].all).map(([op, {all, failed}]) => {
      const latency = total(histograms, op, 'total');
      const at = (q) => (latency.count ? duration(quantile(latency, q)) : '–');
      return [op, all.toLocaleString('en'), failed.toLocaleString('en'), at(MEDIAN), at(TAIL), latency.count ? phaseBar(meanPhases(histograms, op)) : '–'];
    });
  }

  #errorRows(errors) {
    const kinds = Map.groupBy(errors, (each) => each.outcome);
    const rows = [...kinds].map(([kind, list]) => ({kind, count: list.reduce((sum, each) => sum + each.count, 0), ops: list.map((each) => each.op)}));
    return rows.sort((a, b) => b.count - a.count).map(({kind, count, ops}) => [kind, count.toLocaleString('en'), [...new Set(ops)].sort().join(', ')]);
  }

  /** Shows the devices, even if metrics cannot be read. */
  showDevices(devices) {
    this.#about.hidden = false;
    for (const device of devices) {
      if (!this.#cards.has(device.id)) {
        const {card, parts} = deviceCard();
        this.#cards.set(device.id, parts);
        this.#devices.append(card);
      }
      updateCard(this.#cards.get(device.id), device);
    }
  }
}
