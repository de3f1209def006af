/** Switches between the views and polls the service for all of them. */

import * as api from './api.js';
import {setText} from './dom.js';
import {ModelsView} from './models.js';
import {Overview} from './overview.js';
import {PipelineView} from './pipeline.js';
import {PtxView} from './ptx.js';
import {ReferenceView} from './reference.js';
import {RunView} from './run.js';
import {TensorsView} from './tensors.js';

const POLL_MILLIS = 1000;
const RECENT_MILLIS = 5000; // the service takes samples as often

const section = (id) => document.getElementById(id);
const overview = new Overview(section('overview'));
const ptx = new PtxView(section('ptx'));
const run = new RunView(section('run'), showPtx);
const tensors = new TensorsView(section('tensors'));
const models = new ModelsView(section('models'));
const pipeline = new PipelineView(section('pipeline'));
const reference = new ReferenceView(section('api'));
const views = {overview, run, pipeline, models, tensors, ptx, api: reference};

let catalogue = [];
let refusal = null; // the 403 that keeps devices and metrics from this caller
let recent; // a promise of the last response of GET /recent
let recentAt = 0;
let timer;

function showPtx(op, problem) {
  ptx.ask(op, problem);
  location.hash = '#ptx';
}

// -- view selection

/** Returns the view of the URL's fragment, such as #run/matmul, and what follows its name. */
function place() {
  const [, name, rest] = /^#?([^/?]*)[/?]?(.*)$/s.exec(location.hash);
  return Object.hasOwn(views, name) ? {name, rest} : {name: 'overview', rest: ''};
}

const current = () => place().name;

function show() {
  const {name, rest} = place();
  for (const view of Object.keys(views)) section(view).hidden = view !== name;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  views[name].shown?.(rest);
}

addEventListener('hashchange', () => {
  if (location.hash === '#main') return; // the skip link
  show();
  recentAt = 0;
  poll();
});

// -- state of the service

function state(text, health) {
  const line = section('state');
  line.dataset.health = health;
  setText(line, text);
}

/** Metrics may be unavailable while the rest works, for example behind a proxy that blocks them. */
async function showMetrics(devices) {
  try {
    const metrics = await api.metrics();
    if (Date.now() - recentAt >= RECENT_MILLIS) {
      recentAt = Date.now();
      recent = api.recent();
    }
    overview.update(devices, metrics, await recent);
  } catch (failure) {
    if (failure instanceof api.Unreachable) throw failure;
    recentAt = 0;
    overview.fail(failure);
  }
}

/** Reads the ops; called again after a reconnect, because the service may have been upgraded. */
async function readOps() {
  const [ops, version] = await Promise.all([api.ops(), api.version()]);
  setText(section('version'), version);
  if (JSON.stringify(ops) !== JSON.stringify(catalogue)) {
    catalogue = ops;
    run.describe(catalogue);
    pipeline.describe(catalogue);
    ptx.describe(catalogue);
  }
}

/** Shows readiness instead of devices and metrics to callers without the scope metrics. */
async function showReadiness() {
  const ready = await api.ready();
  state(ready ? 'ready' : 'not ready', ready ? 'ready' : 'not-ready');
  overview.refuse(`${refusal.message} The overview is empty without it. Run needs ops:run, Tensors needs tensors:read and tensors:write, and PTX needs no scope.`);
}

async function showDevices() {
  const devices = await api.devices();
  state(devices.map((each) => `${each.id} ${each.health}`).join(', '), devices.every((each) => each.health === 'ready') ? 'ready' : 'not-ready');
  overview.showDevices(devices);
  if (current() === 'overview') await showMetrics(devices);
}

async function poll() {
  clearTimeout(timer);
  try {
    if (!catalogue.length || isLost()) await readOps();
    try {
      await (refusal ? showReadiness() : showDevices());
    } catch (failure) {
      if (failure.status !== 403) throw failure;
      refusal = failure;
      await showReadiness();
    }
    if (current() === 'tensors') await tensors.refresh();
    if (current() === 'models') await models.refresh();
    if (isLost()) found();
  } catch (failure) {
    if (failure instanceof api.Unreachable) {
      lose();
    } else {
      if (isLost()) found();
      state(failure.message, 'lost');
    }
  }
  clearTimeout(timer); // another poll may have finished in the meantime
  if (!document.hidden) timer = setTimeout(poll, POLL_MILLIS);
}

// -- lost connection

const lost = section('lost');
let focused = null;

const isLost = () => !lost.hidden;

/** Grays out the page, which keeps its last state, and shows one message for all views. */
function lose() {
  if (isLost()) return;
  focused = document.activeElement;
  section('main').inert = true;
  lost.hidden = false;
  setText(lost, 'The service is not responding. This page shows its last state and retries every second.');
  state('not connected', 'unknown');
}

function found() {
  section('main').inert = false;
  lost.hidden = true;
  focused?.focus({preventScroll: true});
  views[current()].shown?.();
}

/** Opens documents of the API in a new tab; a link would not send the key. */
for (const link of document.querySelectorAll('#links a')) {
  link.addEventListener('click', async (event) => {
    event.preventDefault();
    try {
      const text = await api.text(link.getAttribute('href').slice(2));
      open(URL.createObjectURL(new Blob([text], {type: 'text/plain;charset=utf-8'})));
    } catch (failure) {
      state(failure.message, 'lost');
    }
  });
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else poll();
});

// -- API key or token, if the service requires one

const access = section('access');

api.onDenied(() => {
  access.hidden = false;
});

access.addEventListener('submit', (event) => {
  event.preventDefault();
  api.useKey(section('key').value);
  access.hidden = true;
  refusal = null;
  if (current() === 'api') reference.shown();
  poll();
});

show();
poll();
