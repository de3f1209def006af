/** The form fields of one input: its type and the source of its elements. */

import * as api from './api.js';
import {bytes, h, newId, refuse, setText, until} from './dom.js';
import {extents, usualDtype, wrongRank} from './shapes.js';
import {Mistake, checkRange, elements, isBlock, isInteger, numbers, random, readShape, typed, zeros} from './values.js';

const SOURCES = [
  ['random', 'random'],
  ['zeros', 'zeros'],
  ['typed', 'typed numbers'],
  ['file', 'npy or safetensors file'],
  ['resident', 'resident tensor'],
];

const STEP = ['step', 'output of a step'];

/** The sources whose dtype and shape the form chooses. */
const GENERATED = ['random', 'zeros', 'typed'];

const typeOf = ({dtype, shape}) => `${dtype} [${shape.join(', ')}]`;

/** Creates a label with its field. */
export function labelled(text, field, attributes = {}) {
  field.id ||= newId();
  return h('span', {class: 'field', ...attributes}, h('label', {for: field.id}, text), field);
}

export class InputFields {
  #input;
  #seed;
  #given = h('input', {type: 'checkbox'});
  #dtype = h('select', {'data-role': 'dtype'});
  #shape = h('input', {'data-role': 'shape', size: 9, autocomplete: 'off', spellcheck: 'false'});
  #source;
  #parts = {};
  #numbers = h('textarea', {rows: 3, spellcheck: 'false', 'data-role': 'numbers', placeholder: '1 2 3 4'});
  #tensor = h('select', {'data-role': 'tensor'});
  #file = h('input', {type: 'file', 'data-role': 'file', accept: '.npy,.safetensors'});
  #upload = h('p', {role: 'status', class: 'muted'});
  #uploaded = null;
  #uploadFailure = null;
  #step = h('select', {'data-role': 'step'});
  #reference = '';
  #tensors = [];
  #handle = '';
  #fields = {};
  #usual;
  #shapeWasTyped = false;

  /**
   * @param input its description in GET /ops
   * @param seed the initial seed of its random numbers
   * @param given whether it is included at first
   * @param isInStep whether it may be the output of an earlier step of a pipeline
   */
  constructor(input, seed, given, isInStep) {
    this.#input = input;
    this.#usual = {given, dtype: usualDtype(input)};
    this.#source = h('select', {'data-role': 'source'}, ...[...(isInStep ? [STEP] : []), ...SOURCES].map(([value, text]) => h('option', {value}, text)));
    this.#seed = h('input', {type: 'number', value: seed, min: 0, step: 1});
    const low = h('input', {type: 'number', value: -1, step: 'any'});
    const high = h('input', {type: 'number', value: 1, step: 'any'});
    this.#fields = {low, high};
    this.#dtype.append(...input.dtypes.map((dtype) => h('option', {}, dtype)));
    this.#source.value = 'random';
    this.#dtype.value = this.#usual.dtype;
    this.#given.checked = given;
    this.#shape.addEventListener('input', () => {
      this.#shapeWasTyped = true;
    });
    const range = h('span', {class: 'fields'}, labelled('from', low), labelled('to', high));
    this.#parts = {
      range,
      type: h('span', {class: 'fields'}, labelled('dtype', this.#dtype), labelled('shape', this.#shape)),
      random: h('span', {class: 'fields'}, h('span', {class: 'break'}), labelled('seed', this.#seed), range),
      typed: labelled('numbers in row-major order', this.#numbers, {class: 'field wide'}),
      file: h('span', {class: 'fields'}, labelled('file', this.#file, {class: 'field wide'}), this.#upload),
      step: labelled('output', this.#step, {class: 'field wide'}),
      resident: labelled('tensor', this.#tensor, {class: 'field wide'}),
    };
    this.body = h('span', {class: 'fields'}, this.#parts.type, labelled('source', this.#source), this.#parts.random, this.#parts.typed, this.#parts.file, this.#parts.step, this.#parts.resident);
    this.element = h(
      'fieldset',
      {'data-field': `inputs.${input.name}`},
      h('legend', {}, input.name, ' ', h('code', {}, input.shape)),
      h('p', {class: 'muted'}, input.meaning),
      input.optional ? labelled('Include this input', this.#given, {class: 'field check'}) : null,
      this.body,
    );
    this.#dtype.addEventListener('change', () => this.#spread());
    this.#spread();
    for (const field of [this.#given, this.#source, this.#dtype]) field.addEventListener('change', () => this.#show());
    // before the form, which handles the event that comes first, offers the choices again
    this.#tensor.addEventListener('input', () => {
      this.#handle = this.#tensor.value;
    });
    this.#step.addEventListener('input', () => {
      this.#reference = this.#step.value;
    });
    this.#file.addEventListener('change', () => this.#send());
    this.#show();
  }

  get name() {
    return this.#input.name;
  }

  /** Returns whether it comes after another input in a list. */
  get follows() {
    return Boolean(this.#input.follows);
  }

  get isGiven() {
    return this.#given.checked;
  }

  /** Returns whether the form chooses its dtype and shape. */
  get isGenerated() {
    return GENERATED.includes(this.#source.value);
  }

  /** Returns the input in a link: none, a handle, a dtype, or a dtype and shape; null for the usual input. */
  get term() {
    if (!this.isGiven) return this.#usual.given ? 'none' : null;
    if (!this.isGenerated) return this.#resident?.handle ?? (this.#handle || null);
    const dtype = this.#dtype.value;
    if (this.#shapeWasTyped) return `${dtype}[${this.#shape.value.replaceAll(' ', '')}]`;
    return dtype === this.#usual.dtype && this.#usual.given ? null : dtype;
  }

  /** Sets what {@link term} returned. */
  fill(term) {
    const [, dtype, shape] = /^(\w+)(?:\[(.*)\])?$/.exec(term) ?? [];
    const isKnown = this.#input.dtypes.includes(dtype);
    const isNone = term === 'none' && this.#input.optional;
    if (!isKnown && !isNone && !term.startsWith('t_')) {
      const choices = [...(this.#input.optional ? ['none'] : []), 'a handle t_…', `one of ${this.#input.dtypes.join(', ')}, which a shape may follow, such as ${this.#usual.dtype}[8,8]`];
      throw new Mistake(this.#path, `${this.name} must be ${choices.join(', ')}; got ${term}.`, 'shape');
    }
    this.#given.checked = !isNone;
    if (isKnown) {
      this.#dtype.value = dtype;
      this.#spread();
      if (shape !== undefined) {
        this.#shape.value = shape.replaceAll(',', ', ');
        this.#shapeWasTyped = true;
      }
    } else if (!isNone) {
      this.#source.value = 'resident';
      this.#handle = term;
    }
    this.#show();
  }

  /** Sets the default range of random numbers: integers are usually counts, masks or indices, so not negative. */
  #spread() {
    this.#fields.low.value = isInteger(this.#dtype.value) ? 0 : -1;
  }

  #show() {
    const blocks = isBlock(this.#dtype.value);
    this.#source.querySelector('[value=typed]').disabled = blocks;
    if (blocks && this.#source.value === 'typed') this.#source.value = 'random';
    this.#parts.range.hidden = blocks;
    const source = this.#source.value;
    this.body.hidden = !this.isGiven;
    this.#parts.type.hidden = !this.isGenerated;
    for (const part of ['random', 'typed', 'file', 'step', 'resident']) this.#parts[part].hidden = source !== part;
  }

  /**
   * Throws if the shape, the numbers or their range are invalid, or the file was rejected. Numbers not typed yet and
   * a file not chosen yet are valid.
   */
  check() {
    const source = this.#source.value;
    if (this.isGiven && source === 'file' && this.#uploadFailure) throw this.#uploadFailure;
    if (this.isGiven && source === 'step' && !this.reference) throw new Mistake(this.#path, 'Choose an output of an earlier step, or another source.', 'step');
    if (!this.isGiven || !this.isGenerated) return;
    const shape = this.#extents;
    if (source === 'random') checkRange(this.#range, this.#path);
    if (source !== 'typed') elements(this.#dtype.value, shape, this.#path);
    else if (this.#numbers.value.trim()) typed(this.#numbers.value, shape, this.#path);
  }

  /** Shows an error message at the field of its role, or else, as the service does not know the fields, below all. */
  refuse(failure) {
    const main = {file: this.#file, step: this.#step, resident: this.#tensor}[this.#source.value] ?? this.#shape;
    if (failure.role === undefined) return refuse(main, failure, this.body);
    return refuse({numbers: this.#numbers, range: this.#fields.low}[failure.role] ?? main, failure);
  }

  /** Updates the shape from the sizes of the form, unless the user has edited it. */
  resize(sizes) {
    if (this.#shapeWasTyped) return;
    this.#shape.value = extents(this.#input.shape, sizes);
  }

  /** Offers the resident tensors of a matching dtype. */
  offer(tensors) {
    this.#tensors = tensors.filter((tensor) => this.#input.dtypes.includes(tensor.dtype));
    const short = (handle) => `${handle.slice(0, 10)}…`;
    const name = (tensor) => `${tensor.name ?? short(tensor.handle)} · ${typeOf(tensor)}`;
    if (this.#source.value !== 'resident') this.#handle = '';
    const isGone = this.#handle && !this.#tensors.some((tensor) => tensor.handle === this.#handle);
    const missing = isGone ? `${short(this.#handle)} is not available` : this.#tensors.length ? null : `no tensor of dtype ${this.#input.dtypes.join(', ')}`;
    this.#tensor.replaceChildren(
      ...(missing ? [h('option', {value: isGone ? this.#handle : ''}, missing)] : []),
      ...this.#tensors.map((tensor) => h('option', {value: tensor.handle}, name(tensor))),
    );
    if (this.#handle) this.#tensor.value = this.#handle;
    this.#handle = this.#tensor.value;
  }

  /** Returns the key of the earlier step's output that this input is; empty if it is none. */
  get reference() {
    return this.isGiven && this.#source.value === 'step' ? this.#step.value : '';
  }

  /** Makes this input the output of an earlier step. */
  refer(key) {
    this.#source.value = 'step';
    this.#reference = key;
    this.#show();
  }

  /** Offers the outputs of earlier steps, as pairs of key and text. */
  offerOutputs(outputs) {
    const isOffered = outputs.some(([key]) => key === this.#reference);
    this.#step.replaceChildren(
      ...(isOffered ? [] : [h('option', {value: ''}, outputs.length ? '–' : 'no earlier step')]),
      ...outputs.map(([key, text]) => h('option', {value: key}, text)),
    );
    this.#step.value = isOffered ? this.#reference : '';
  }

  /** Uploads the chosen file, which becomes a resident tensor with the service's usual lease. */
  async #send() {
    const [file] = this.#file.files;
    this.#uploaded = null;
    this.#uploadFailure = null;
    setText(this.#upload, file ? `Uploading ${bytes(file.size)} …` : '');
    if (!file) return;
    let tensor = null;
    let failure = null;
    try {
      tensor = await api.uploadTensor(file);
    } catch (caught) {
      failure = new Mistake(this.#path, caught.message, 'file');
    }
    if (this.#file.files[0] !== file) return; // another file was chosen meanwhile
    this.#uploaded = tensor;
    this.#uploadFailure = failure;
    setText(this.#upload, tensor ? `${tensor.name} · ${typeOf(tensor)} · ${bytes(tensor.bytes)}${tensor.expiresAt ? ` · expires ${until(new Date(tensor.expiresAt))} unless used` : ''}` : '');
    this.#file.dispatchEvent(new Event('input', {bubbles: true}));
  }

  get #resident() {
    return this.#source.value === 'file' ? this.#uploaded : this.#tensors.find((each) => each.handle === this.#handle);
  }

  /** Returns the resident tensor; throws if there is none. */
  #tensorOrThrow() {
    if (this.#resident) return this.#resident;
    if (this.#source.value !== 'file') throw new Mistake(this.#path, 'No matching resident tensor. Keep an output of a run on the device, or choose another source.');
    const [file] = this.#file.files;
    throw this.#uploadFailure ?? new Mistake(this.#path, file ? `${file.name} is still being uploaded.` : 'Choose an npy or safetensors file.', 'file');
  }

  get #path() {
    return `inputs.${this.#input.name}`;
  }

  get #extents() {
    const shape = readShape(this.#shape.value, this.#path);
    const wrong = wrongRank(this.#input.shape, shape);
    if (wrong) throw new Mistake(this.#path, wrong, 'shape');
    return shape;
  }

  /** Returns the input's term of a problem, such as a=f32[8,8]. */
  problem() {
    const {dtype, shape} = this.isGenerated ? {dtype: this.#dtype.value, shape: this.#extents} : this.#tensorOrThrow();
    return `${this.#input.name}=${dtype}[${shape.join(',')}]`;
  }

  /** Returns the input as JSON text. */
  json() {
    if (!this.isGenerated) return JSON.stringify({handle: this.#tensorOrThrow().handle});
    const dtype = this.#dtype.value;
    const shape = this.#extents;
    return `{"dtype":"${dtype}","shape":[${shape}],${this.#data(dtype, shape)}}`;
  }

  /** Returns the tensor for the code of a request: a handle, or dtype and shape with numbers or a random range. */
  get value() {
    if (!this.isGenerated) return {handle: this.#tensorOrThrow().handle};
    const value = {dtype: this.#dtype.value, shape: this.#extents};
    switch (this.#source.value) {
      case 'zeros':
        return value;
      case 'typed':
        return {...value, numbers: numbers(this.#numbers.value, value.shape, this.#path)};
      default:
        return {...value, random: this.#range};
    }
  }

  #data(dtype, shape) {
    switch (this.#source.value) {
      case 'zeros':
        return zeros(dtype, shape, this.#path);
      case 'typed':
        return typed(this.#numbers.value, shape, this.#path);
      default:
        return random(dtype, shape, this.#range, this.#path);
    }
  }

  get #range() {
    const [seed, low, high] = [this.#seed, this.#fields.low, this.#fields.high].map((field) => field.valueAsNumber);
    return {seed, low, high};
  }
}
