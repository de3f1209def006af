/** The service's public interface, and nothing else. */

let key = ''; // in memory alone: gone with the page

const denied = new EventTarget();

/** Milliseconds until a poll counts as unanswered; runs and previews may take longer. */
const POLL_TIMEOUT = 5000;

/** An answer that is no success, in the service's own words. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? `the service answers ${status}`);
    this.status = status;
    /** The path of what is at fault, such as inputs.a.data[3]; undefined where there is none. */
    this.field = body.field;
  }
}

/** No answer from the service: the connection failed, or only a proxy answered. The page says so once for all views. */
export class Unreachable extends Problem {
  constructor() {
    super(0, {detail: 'The service does not answer.'});
  }
}

/** Sends a key with every request from now on. */
export function useKey(text) {
  key = text;
}

/** Calls back whenever the service asks for a key. */
export const onDenied = (action) => denied.addEventListener('denied', action);

async function send(method, path, {body, type = 'application/json', accept, timeout} = {}) {
  const headers = {};
  if (accept) headers.Accept = accept;
  if (body !== undefined) headers['Content-Type'] = type;
  if (key) headers.Authorization = `Bearer ${key}`;
  let answer;
  try {
    // relative, so that a prefix of a proxy's stays
    const signal = timeout ? AbortSignal.timeout(timeout) : undefined;
    answer = await fetch(`..${path}`, {method, headers, body, signal, cache: 'no-store', credentials: 'omit'});
  } catch {
    throw new Unreachable();
  }
  if (answer.ok) return answer;
  if (answer.status === 401) denied.dispatchEvent(new Event('denied'));
  let problem = {};
  try {
    problem = await answer.json();
  } catch {
    // a proxy's page
    if ([502, 503, 504].includes(answer.status)) throw new Unreachable();
  }
  throw new Problem(answer.status, problem);
}

const json = async (...request) => (await send(...request)).json();

export const ops = async () => (await json('GET', '/ops', {timeout: POLL_TIMEOUT})).ops;

export const devices = async () => (await json('GET', '/devices', {timeout: POLL_TIMEOUT})).devices;

/** Whether the service takes work; needs no key. */
export async function ready() {
  try {
    await send('GET', '/readyz', {timeout: POLL_TIMEOUT});
    return true;
  } catch (failure) {
    if (failure instanceof Unreachable) throw failure;
    return false;
  }
}

/** The metrics in Prometheus' text form. */
export const metrics = async () => (await send('GET', '/metrics', {accept: 'text/plain', timeout: POLL_TIMEOUT})).text();

/** Runs an op; the body is text, so that numbers arrive as they were typed. */
export const run = (op, body) => json('POST', `/ops/${encodeURIComponent(op)}`, {body});

export const plan = (op, problem) =>
  json('GET', `/ops/${encodeURIComponent(op)}/ptx?problem=${encodeURIComponent(problem)}`);

/** Resident tensors, newest first: up to a number of pages, and whether there are more. */
export async function tensors(pages = 1) {
  const all = [];
  let next = '';
  for (let page = 0; page < pages && next !== null; page++) {
    const answer = await json('GET', `/tensors?limit=100${next && `&after=${encodeURIComponent(next)}`}`, {timeout: POLL_TIMEOUT});
    all.push(...answer.tensors);
    next = answer.next;
  }
  return {tensors: all, more: next !== null};
}

export const tensorData = (handle) => json('GET', `/tensors/${handle}/data`, {accept: 'application/json'});

export const renewTensor = (handle, ttlSeconds) =>
  json('PATCH', `/tensors/${handle}`, {body: JSON.stringify({ttlSeconds})});

export const deleteTensor = (handle) => send('DELETE', `/tensors/${handle}`);
