/** Puts the views together: which one is shown, and the poll that all of them live on. */

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
let refusal = null; // why this caller sees no devices
let timer;

function showPtx(op, problem) {
  ptx.ask(op, problem);
  location.hash = '#ptx';
}

// -- which view

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
  if (location.hash !== '#main') show(); // that one is the link past the header
});

// -- what the service is at

function state(text, health) {
  const line = section('state');
  line.dataset.health = health;
  setText(line, text);
}

/** Metrics may be out of reach while the rest is not, such as behind a proxy that keeps them to itself. */
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

/** Reads the ops, and anew when the service comes back: another version may have others. */
async function readOps() {
  const ops = await api.ops();
  if (JSON.stringify(ops) !== JSON.stringify(catalogue)) {
    catalogue = ops;
    run.describe(catalogue);
    ptx.describe(catalogue);
  }
}

/** What a caller without the scope metrics sees instead of devices and latencies. */
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
  clearTimeout(timer); // another poll may have ended meanwhile
  if (!document.hidden) timer = setTimeout(poll, POLL_MILLIS);
}

// -- a service that does not answer

const lost = section('lost');
let focused = null;

const isLost = () => !lost.hidden;

/** Everything turns grey and stays as it was, with one sentence for all views. */
function lose() {
  if (isLost()) return;
  focused = document.activeElement;
  section('main').inert = true;
  lost.hidden = false;
  setText(lost, 'The service does not answer; this page keeps its last state and tries again every second.');
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

// -- an API key or a token, where the service asks for one

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
