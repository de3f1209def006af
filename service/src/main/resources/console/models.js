/** Lists stored models, stores and deletes them, runs them, and generates tokens with decoders. */

import * as api from './api.js';
import {accept, bytes, errorLine, h, refuse, setText, table} from './dom.js';
import {pipelineAnswer} from './result.js';
import {zeros} from './values.js';

const typeOf = ({name, dtype, shape}) => `${name} ${dtype} [${shape.join(', ')}]`;

/** Returns whether a model generates tokens. */
const isDecoder = ({inputs, outputs}) => inputs.length === 1 && inputs[0].dtype === 'i64' && inputs[0].shape.length === 2 && outputs.includes('next');

/** Returns a request with zeros; extents that calls choose are the smallest. */
function sample({inputs, extents}) {
  const tensors = inputs.map(({name, dtype, shape}) => {
    const chosen = shape.map((extent) => (/^\d+$/.test(extent) ? Number(extent) : (extents[extent]?.min ?? 1)));
    return `    ${JSON.stringify(name)}: {"dtype": "${dtype}", "shape": [${chosen.join(', ')}], ${zeros(dtype, chosen, name)}}`;
  });
  return `{\n  "inputs": {\n${tensors.join(',\n')}\n  }\n}`;
}

export class ModelsView {
  #chosen = null;
  #table = table('models-list', 'name', 'version', 'inputs', 'outputs', 'weights.', '');
  #none = h(
    'div',
    {class: 'empty', hidden: true},
    h('p', {}, 'No models yet. Store an ONNX file, or a zip with config.json and safetensors:'),
    h('pre', {class: 'scroll'}, `curl -X PUT ${new URL('..', location).href}models/bert -H 'Content-Type: application/onnx' --data-binary @bert.onnx`),
  );
  #failure = h('div');
  #name = h('input', {id: 'model-name', autocomplete: 'off', spellcheck: 'false', pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}', placeholder: 'bert'});
  #file = h('input', {type: 'file', id: 'model-file', accept: '.onnx,.zip'});
  #store = h('button', {type: 'button'}, 'Store');
  #title = h('h2');
  #request = h('textarea', {id: 'model-request', rows: 8, spellcheck: 'false', class: 'code'});
  #run = h('button', {type: 'button'}, 'Run');
  #result = h('div', {id: 'model-result', 'aria-live': 'polite'});
  #tokens = h('input', {id: 'model-tokens', value: '1 2 3', autocomplete: 'off'});
  #most = h('input', {type: 'number', id: 'model-most', min: 1, max: 65536, step: 1, value: 32});
  #seed = h('input', {type: 'number', id: 'model-seed', min: 0, step: 1, value: 1});
  #temperature = h('input', {type: 'number', id: 'model-temperature', min: 0, step: 0.1, value: 1});
  #generate = h('button', {type: 'button'}, 'Generate');
  #generated = h('output', {id: 'model-generated', 'aria-live': 'polite'});
  #decoder;
  #panel;

  constructor(section) {
    const field = (input, words) => h('span', {class: 'field'}, h('label', {for: input.id}, words), input);
    this.#store.addEventListener('click', () => this.#put());
    this.#run.addEventListener('click', () => this.#call());
    this.#generate.addEventListener('click', () => this.#draw());
    this.#decoder = h(
      'div',
      {class: 'panel', hidden: true},
      h('h3', {}, 'Generate'),
      field(this.#tokens, 'tokens'),
      field(this.#most, 'at most'),
      field(this.#temperature, 'temperature'),
      field(this.#seed, 'seed'),
      this.#generate,
      h('p', {}, this.#generated),
    );
    this.#panel = h('div', {hidden: true}, this.#title, this.#decoder, h('div', {class: 'panel'}, field(this.#request, 'request'), this.#run), this.#result);
    section.append(
      h('div', {class: 'row'}, h('h2', {}, 'Models'), field(this.#name, 'name'), field(this.#file, 'ONNX file or zip'), this.#store),
      this.#failure,
      h('div', {class: 'panel scroll', tabindex: '0', role: 'region', 'aria-label': 'Models'}, this.#table.element, this.#none),
      this.#panel,
    );
  }

  shown() {
    this.refresh();
  }

  /** Reloads the list. */
  async refresh() {
    try {
      this.#show(await api.models());
    } catch (failure) {
      if (!(failure instanceof api.Unreachable)) this.#failure.replaceChildren(errorLine(failure));
    }
  }

  #show(models) {
    this.#none.hidden = models.length > 0;
    this.#table.element.hidden = models.length === 0;
    const button = (words, name, action) => h('button', {type: 'button', 'aria-label': `${words} ${name}`, onclick: action}, words);
    this.#table.fill(
      models.map((model) => [
        model.name,
        model.versions.length > 1 ? `${model.version} of ${model.versions.join(', ')}` : String(model.version),
        model.inputs.map(typeOf).join('; '),
        model.outputs.join(', '),
        bytes(model.bytes),
        h('span', {class: 'actions'}, button('Use', model.name, () => this.#choose(model)), button('Delete', model.name, () => this.#try(() => api.deleteModel(model.name)))),
      ]),
    );
    if (this.#chosen && !models.some(({name}) => name === this.#chosen.name)) {
      this.#chosen = null;
      this.#panel.hidden = true;
    }
  }

  async #try(action) {
    this.#failure.replaceChildren();
    try {
      await action();
    } catch (failure) {
      this.#failure.replaceChildren(errorLine(failure));
    }
    await this.refresh();
  }

  #put() {
    const [file] = this.#file.files;
    accept(this.#name);
    if (!file || !this.#name.value || !this.#name.validity.valid) {
      refuse(this.#name, new Error('Storing a model takes a file, and a name of letters, digits, periods, hyphens and underscores.'));
      return;
    }
    this.#try(() => api.storeModel(this.#name.value, file));
  }

  #choose(model) {
    this.#chosen = model;
    setText(this.#title, model.name);
    this.#request.value = sample(model);
    this.#decoder.hidden = !isDecoder(model);
    this.#generated.replaceChildren();
    this.#result.replaceChildren();
    this.#panel.hidden = false;
  }

  async #call() {
    try {
      this.#result.replaceChildren(pipelineAnswer(await api.runModel(this.#chosen.name, this.#request.value)));
    } catch (failure) {
      this.#result.replaceChildren(errorLine(failure));
    }
  }

  async #draw() {
    const request = {
      tokens: this.#tokens.value.split(/[\s,]+/).filter(Boolean).map(Number),
      maxTokens: this.#most.valueAsNumber,
      temperature: this.#temperature.valueAsNumber,
      seed: this.#seed.valueAsNumber,
    };
    this.#generated.replaceChildren();
    try {
      await api.generate(this.#chosen.name, request, (token) => this.#generated.append(`${token} `));
    } catch (failure) {
      this.#generated.append(errorLine(failure));
    }
  }
}
