/** The client of the service's public API. */

let key = ''; // kept in memory only, never stored

const denied = new EventTarget();

/** Timeout of a poll in milliseconds; runs and previews have none. */
const POLL_TIMEOUT = 5000;

/** An error response of the service; the message is its `detail`. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? `The service returned status ${status}.`);
    this.status = status;
    /** The path of the invalid field, such as inputs.a.data[3]; undefined if the error concerns no field. */
    this.field = body.field;
    /** The index of the step of a pipeline that it concerns. */
    this.step = body.step;
  }
}

/** The service did not respond: the connection failed, or only a proxy responded. The page reports it once for all views. */
export class Unreachable extends Problem {
  constructor() {
    super(0, {detail: 'The service is not responding.'});
  }
}

/** Sets the API key or token that all further requests send. */
export function useKey(text) {
  key = text;
}

/** Returns the key or token; empty if none was given. */
export const currentKey = () => key;

/** Registers a callback for 401 responses. */
export const onDenied = (action) => denied.addEventListener('denied', action);

async function send(method, path, {body, type = 'application/json', accept, timeout} = {}) {
  const headers = {};
  if (accept) headers.Accept = accept;
  if (body !== undefined) headers['Content-Type'] = type;
  if (key) headers.Authorization = `Bearer ${key}`;
  let answer;
  try {
    // a relative URL, which keeps a path prefix added by a proxy
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
    // not a problem document: a proxy's error page
    if ([502, 503, 504].includes(answer.status)) throw new Unreachable();
  }
  throw new Problem(answer.status, problem);
}

const json = async (...request) => (await send(...request)).json();

/** Returns the description of the API in YAML. */
export const description = async () => (await send('GET', '/openapi.yaml')).text();

export const ops = async () => (await json('GET', '/ops', {timeout: POLL_TIMEOUT})).ops;

export const devices = async () => (await json('GET', '/devices', {timeout: POLL_TIMEOUT})).devices;

/** Returns whether the service is ready; requires no key. */
export async function ready() {
  try {
    await send('GET', '/readyz', {timeout: POLL_TIMEOUT});
    return true;
  } catch (failure) {
    if (failure instanceof Unreachable) throw failure;
    return false;
  }
}

/** Returns a document of the API as text. */
export const text = async (path) => (await send('GET', path, {timeout: POLL_TIMEOUT})).text();

/** Returns the metrics in Prometheus text format. */
export const metrics = () => text('/metrics');

/** Returns the load of the last minutes, the slowest requests and the last failures. */
export const recent = () => json('GET', '/recent', {timeout: POLL_TIMEOUT});

/** Returns the version of the service. */
export const version = async () => (await json('GET', '/v2', {timeout: POLL_TIMEOUT})).version;

/** Runs an op; the body is JSON text, so that numbers are sent exactly as typed. */
export const run = (op, body) => json('POST', `/ops/${encodeURIComponent(op)}`, {body});

/** Runs a pipeline; the body is JSON text, as above. */
export const runPipeline = (body) => json('POST', '/pipelines/run', {body});

/** Returns the kernels of a problem; `assemble` adds their machine code. */
export const plan = (op, problem, assemble = false) =>
  json('GET', `/ops/${encodeURIComponent(op)}/ptx?problem=${encodeURIComponent(problem)}${assemble ? '&assemble=true' : ''}`);

/** Returns the resident tensors, newest first, of at most `pages` pages, and whether there are more. */
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

/** Uploads an npy or safetensors file; the tensor is labeled with its name. */
export const uploadTensor = (file) =>
  json('POST', `/tensors?name=${encodeURIComponent(file.name.slice(0, 128))}`, {
    body: file,
    type: file.name.endsWith('.safetensors') ? 'application/x-safetensors' : 'application/x-npy',
  });

export const tensorData = (handle) => json('GET', `/tensors/${handle}/data`, {accept: 'application/json'});

export const renewTensor = (handle, ttlSeconds) =>
  json('PATCH', `/tensors/${handle}`, {body: JSON.stringify({ttlSeconds})});

export const deleteTensor = (handle) => send('DELETE', `/tensors/${handle}`);

/** Returns the stored models. */
export const models = async () => (await json('GET', '/models', {timeout: POLL_TIMEOUT})).models;

const modelPath = (name) => `/models/${encodeURIComponent(name)}`;

/** Stores an ONNX file, or a zip of a model's folder. */
export const storeModel = (name, file) =>
  json('PUT', modelPath(name), {body: file, type: file.name.endsWith('.zip') ? 'application/zip' : 'application/onnx'});

export const deleteModel = (name) => send('DELETE', modelPath(name));

/** Runs a model; the body is JSON text. */
export const runModel = (name, body) => json('POST', `${modelPath(name)}/run`, {body});

/** Generates tokens, and calls `took` with each as soon as it is known. */
export async function generate(name, request, took) {
  const answer = await send('POST', `${modelPath(name)}/generate`, {body: JSON.stringify(request), accept: 'text/event-stream'});
  let text = '';
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    const events = (text + part).split('\n\n');
    text = events.pop();
    for (const event of events) {
      const [, kind, data] = /^event: (.*)\ndata: (.*)$/.exec(event);
      if (kind === 'token') took(JSON.parse(data).token);
      if (kind === 'error') throw new Problem(JSON.parse(data).status, JSON.parse(data));
    }
  }
}
