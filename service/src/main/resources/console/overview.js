/** The overview: devices and latencies of ops. */

import {lines, phaseBars} from './charts.js';
import {bytes, digits, duration, errorLine, h, setText} from './dom.js';
import {PHASES, opsOf, quantile, since} from './metrics.js';

const MEDIAN = 0.5;
const TAIL = 0.95;

function deviceCard() {
  const parts = {
    name: h('h3'),
    health: h('span', {class: 'badge'}),
    facts: h('p', {class: 'muted'}),
    used: h('span', {class: 'used'}),
    pooled: h('span', {class: 'pooled'}),
    memory: h('p'),
    queue: h('dd', {class: 'number'}),
    streams: h('dd', {class: 'number'}),
  };
  const card = h(
    'article',
    {class: 'panel device'},
    h('div', {class: 'row'}, parts.name, parts.health),
    parts.facts,
    h('div', {class: 'bar', 'aria-hidden': 'true'}, parts.used, parts.pooled),
    parts.memory,
    h('dl', {}, h('div', {}, h('dt', {}, 'Jobs waiting'), parts.queue), h('div', {}, h('dt', {}, 'Streams busy'), parts.streams)),
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
  setText(parts.queue, String(device.queueDepth));
  setText(parts.streams, `${device.streamsBusy} of ${device.streams}`);
}

export class Overview {
  #seconds;
  #cards = new Map();
  #devices = h('div', {class: 'cards'});
  #op = h('select', {id: 'latency-op'}, h('option', {value: ''}, 'all ops'));
  #span = h('select', {id: 'latency-span'});
  #notice = h('div', {id: 'notice'});
  #about = h('div', {class: 'stack'}, h('h2', {}, 'Devices'), this.#devices);
  #latency = h('div', {class: 'stack', hidden: true});
  #charts = {};
  #rows = h('tbody');
  #polls = [];

  constructor(section, seconds) {
    this.#seconds = seconds;
    this.#span.append(h('option', {value: 'window'}, `last ${seconds} s`), h('option', {value: 'start'}, 'since startup'));
    for (const select of [this.#op, this.#span]) select.addEventListener('change', () => this.#draw());
    const chart = (name, title, ...legend) => {
      this.#charts[name] = h('div', {class: 'plot', id: `chart-${name}`});
      return h('figure', {class: 'panel'}, h('figcaption', {}, title, ...legend), this.#charts[name]);
    };
    const key = (series, words) => h('span', {class: `key ${series}`}, words);
    section.append(
      this.#about,
      this.#notice,
      this.#latency,
    );
    this.#latency.append(
      h(
        'div',
        {class: 'row'},
        h('h2', {}, 'Latency'),
        h('span', {class: 'field'}, h('label', {for: 'latency-op'}, 'of'), this.#op),
        h('span', {class: 'field'}, h('label', {for: 'latency-span'}, 'over'), this.#span),
      ),
      h(
        'div',
        {class: 'charts'},
        chart('phases', 'By phase: median · p95'),
        chart('time', 'Total over time ', key('series0', 'median'), key('series1', 'p95')),
        chart('rate', 'Calls per second'),
        chart('queue', 'Load ', key('series0', 'jobs waiting'), key('series1', 'streams busy')),
      ),
      h(
        'div',
        {class: 'panel scroll', tabindex: '0', role: 'region', 'aria-label': 'Latency by op'},
        h(
          'table',
          {id: 'latencies'},
          h('caption', {}, 'Median by phase. Quantiles are interpolated within histogram buckets.'),
          h('thead', {}, h('tr', {}, ...['op', 'calls', 'per second', ...PHASES, 'total p95'].map((name, i) => h('th', {scope: 'col', class: i ? 'number' : null}, name)))),
          this.#rows,
        ),
      ),
    );
  }

  update(devices, polls, failure) {
    this.#about.hidden = false;
    for (const device of devices) {
      if (!this.#cards.has(device.id)) {
        const {card, parts} = deviceCard();
        this.#cards.set(device.id, parts);
        this.#devices.append(card);
      }
      updateCard(this.#cards.get(device.id), device);
    }
    this.#polls = polls;
    const ran = polls.at(-1)?.hasRequests;
    this.#latency.hidden = !ran;
    if (failure) this.#say('metrics', errorLine({message: `Cannot read the metrics: ${failure.message} Try GET /metrics with the same credentials.`}));
    else if (!ran) this.#say('empty', h('p', {class: 'panel empty'}, 'No op has run yet. ', h('a', {href: '#run'}, 'Run one'), ' or POST to /ops/{op}; its latencies appear here within a second.'));
    else this.#say('');
    this.#draw();
  }

  /** Hides devices and latencies, and shows the reason. */
  refuse(sentence) {
    this.#about.hidden = true;
    this.#latency.hidden = true;
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
    this.#draw();
  }

  #draw() {
    const newest = this.#polls.at(-1);
    if (!newest || !this.#latency.offsetParent) return; // no data, or the view is hidden
    const known = opsOf(newest.histograms);
    const listed = new Set([...this.#op.options].map((option) => option.value));
    this.#op.append(...known.filter((op) => !listed.has(op)).map((op) => h('option', {}, op)));
    const oldest = this.#span.value === 'start' ? null : this.#polls[0];
    const elapsed = (newest.time - this.#polls[0].time) / 1000;
    this.#drawPhases(newest, oldest);
    this.#drawTime(newest);
    this.#rows.replaceChildren(...known.map((op) => this.#row(op, newest, oldest, elapsed)));
  }

  #put(name, draw) {
    const place = this.#charts[name];
    place.replaceChildren(draw(Math.max(place.clientWidth, 200)));
  }

  #drawPhases(newest, oldest) {
    const rows = PHASES.map((phase) => {
      const between = since(newest.histograms, oldest?.histograms, this.#op.value, phase);
      return {phase, p50: quantile(between, MEDIAN), p95: quantile(between, TAIL)};
    });
    this.#put('phases', (width) => phaseBars(width, rows));
  }

  #drawTime(newest) {
    const steps = this.#polls.slice(1).map((poll, i) => ({
      ago: (newest.time - poll.time) / 1000,
      seconds: Math.max((poll.time - this.#polls[i].time) / 1000, 0.001),
      between: since(poll.histograms, this.#polls[i].histograms, this.#op.value, 'total'),
    }));
    const series = (name, value, stepped) => ({name, stepped, points: steps.map((step) => [step.ago, value(step)])});
    const load = (name, value) => ({
      name,
      stepped: true,
      points: this.#polls.map((poll) => [(newest.time - poll.time) / 1000, poll.devices.reduce((sum, device) => sum + value(device), 0)]),
    });
    this.#put('time', (width) =>
      lines(width, this.#seconds, [series('median', (step) => quantile(step.between, MEDIAN)), series('p95', (step) => quantile(step.between, TAIL))], duration),
    );
    this.#put('rate', (width) => lines(width, this.#seconds, [series('calls', (step) => step.between.count / step.seconds, true)], digits, 1));
    this.#put('queue', (width) =>
      lines(width, this.#seconds, [load('waiting', (device) => device.queueDepth), load('busy', (device) => device.streamsBusy)], digits, 2),
    );
  }

  #row(op, newest, oldest, elapsed) {
    const of = (phase) => since(newest.histograms, oldest?.histograms, op, phase);
    const total = of('total');
    const cell = (value) => h('td', {class: 'number'}, value === null ? '–' : value);
    const time = (histogram, q) => {
      const value = quantile(histogram, q);
      return cell(value === null ? null : duration(value));
    };
    return h(
      'tr',
      {},
      h('th', {scope: 'row'}, op),
      cell(String(total.count)),
      cell(oldest && elapsed ? digits(total.count / elapsed) : null),
      ...PHASES.map((phase) => time(of(phase), MEDIAN)),
      time(total, TAIL),
    );
  }
}
