/** Switches between the views and polls the service for all of them. */

import * as api from './api.js';
import {setText} from './dom.js';
import {History, hasRequests, parse} from './metrics.js';
import {Overview} from './overview.js';
import {PtxView} from './ptx.js';
import {RunView} from './run.js';
import {TensorsView} from './tensors.js';

const POLL_MILLIS = 1000;
const HISTORY_SECONDS = 120;

const section = (id) => document.getElementById(id);
const history = new History(HISTORY_SECONDS);
const overview = new Overview(section('overview'), HISTORY_SECONDS);
const ptx = new PtxView(section('ptx'));
const run = new RunView(section('run'), showPtx);
const tensors = new TensorsView(section('tensors'));
const views = {overview, run, tensors, ptx};

let catalogue = [];
let refusal = null; // the 403 that keeps devices and metrics from this caller
let timer;

function showPtx(op, problem) {
  ptx.ask(op, problem);
  location.hash = '#ptx';
}

// -- view selection

function current() {
  const name = location.hash.slice(1);
  return name in views ? name : 'overview';
}

function show() {
  const name = current();
  for (const view of Object.keys(views)) section(view).hidden = view !== name;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  views[name].shown?.();
}

addEventListener('hashchange', () => {
  if (location.hash !== '#main') show(); // #main is the skip link
});

// -- state of the service

function state(text, health) {
  const line = section('state');
  line.dataset.health = health;
  setText(line, text);
}

/** Metrics may be unavailable while the rest works, for example behind a proxy that blocks them. */
async function readMetrics(devices) {
  try {
    const text = await api.metrics();
    history.add({time: Date.now(), histograms: parse(text), hasRequests: hasRequests(text), devices});
    return null;
  } catch (failure) {
    if (failure instanceof api.Unreachable) throw failure;
    return failure;
  }
}

/** Reads the ops; called again after a reconnect, because the service may have been upgraded. */
async function readOps() {
  const ops = await api.ops();
  if (JSON.stringify(ops) !== JSON.stringify(catalogue)) {
    catalogue = ops;
    run.describe(catalogue);
    ptx.describe(catalogue);
  }
}

/** Shows readiness instead of devices and latencies to callers without the scope metrics. */
async function showReadiness() {
  const ready = await api.ready();
  state(ready ? 'ready' : 'not ready', ready ? 'ready' : 'not-ready');
  overview.refuse(`${refusal.message} Devices and latencies are not shown; the other views work without this scope.`);
}

async function showDevices() {
  const devices = await api.devices();
  const failure = await readMetrics(devices);
  state(devices.map((each) => `${each.id} ${each.health}`).join(', '), devices.every((each) => each.health === 'ready') ? 'ready' : 'not-ready');
  overview.update(devices, history.polls, failure);
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
  poll();
});

show();
poll();
