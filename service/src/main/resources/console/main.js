/** Puts the views together: which one is shown, and the poll that all of them live on. */

import * as api from './api.js';
import {setText} from './dom.js';
import {History, parse} from './metrics.js';
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

/** Metrics may be out of reach while the rest is not: another port, or another scope of the key. */
async function readMetrics(devices) {
  try {
    const histograms = parse(await api.metrics());
    history.add({time: Date.now(), histograms, devices});
    return null;
  } catch (failure) {
    return failure;
  }
}

async function poll() {
  clearTimeout(timer);
  try {
    if (!catalogue.length) {
      catalogue = await api.ops();
      run.describe(catalogue);
      ptx.describe(catalogue);
    }
    const devices = await api.devices();
    const failure = await readMetrics(devices);
    state(devices.map((each) => `${each.id} ${each.health}`).join(', '), devices.every((each) => each.health === 'ready') ? 'ready' : 'not-ready');
    overview.update(devices, history.polls, failure);
  } catch (failure) {
    state(failure.message, 'lost');
  }
  if (current() === 'tensors') await tensors.refresh();
  if (!document.hidden) timer = setTimeout(poll, POLL_MILLIS);
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else poll();
});

// -- a key, where the service asks for one

const access = section('access');

api.onDenied(() => {
  access.hidden = false;
});

access.addEventListener('submit', (event) => {
  event.preventDefault();
  api.useKey(section('key').value);
  access.hidden = true;
  poll();
});

show();
poll();
