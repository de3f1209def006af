/** The form fields of one input: its type and the source of its elements. */

import {h, newId, refuse} from './dom.js';
import {extents, usualDtype, wrongRank} from './shapes.js';
import {Mistake, checkRange, elements, isBlock, isInteger, random, readShape, typed, zeros} from './values.js';

const SOURCES = [
  ['random', 'random'],
  ['zeros', 'zeros'],
  ['typed', 'typed numbers'],
  ['resident', 'resident tensor'],
];

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
  #source = h('select', {'data-role': 'source'}, ...SOURCES.map(([value, text]) => h('option', {value}, text)));
  #parts = {};
  #numbers = h('textarea', {rows: 3, spellcheck: 'false', 'data-role': 'numbers', placeholder: '1 2 3 4'});
  #tensor = h('select', {'data-role': 'tensor'});
  #tensors = [];
  #fields = {};
  #shapeWasTyped = false;

  /**
   * @param input its description in GET /ops
   * @param seed the initial seed of its random numbers
   * @param given whether it is included at first
   */
  constructor(input, seed, given) {
    this.#input = input;
    this.#seed = h('input', {type: 'number', value: seed, min: 0, step: 1});
    const low = h('input', {type: 'number', value: -1, step: 'any'});
    const high = h('input', {type: 'number', value: 1, step: 'any'});
    this.#fields = {low, high};
    this.#dtype.append(...input.dtypes.map((dtype) => h('option', {}, dtype)));
    this.#dtype.value = usualDtype(input);
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
      resident: labelled('tensor', this.#tensor, {class: 'field wide'}),
    };
    this.body = h('span', {class: 'fields'}, this.#parts.type, labelled('source', this.#source), this.#parts.random, this.#parts.typed, this.#parts.resident);
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
    this.#show();
  }

  get isGiven() {
    return this.#given.checked;
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
    this.#parts.type.hidden = source === 'resident';
    for (const part of ['random', 'typed', 'resident']) this.#parts[part].hidden = source !== part;
  }

  /** Throws if the shape, the numbers or their range are invalid. Numbers not typed yet are valid. */
  check() {
    const source = this.#source.value;
    if (!this.isGiven || source === 'resident') return;
    const shape = this.#extents;
    if (source === 'random') checkRange(this.#range, this.#path);
    if (source !== 'typed') elements(this.#dtype.value, shape, this.#path);
    else if (this.#numbers.value.trim()) typed(this.#numbers.value, shape, this.#path);
  }

  /** Shows an error message at its field. */
  refuse(mistake) {
    return refuse({numbers: this.#numbers, range: this.#fields.low}[mistake.role] ?? this.#shape, mistake);
  }

  /** Updates the shape from the sizes of the form, unless the user has edited it. */
  resize(sizes) {
    if (this.#shapeWasTyped) return;
    this.#shape.value = extents(this.#input.shape, sizes);
  }

  /** Offers the resident tensors of a matching dtype. */
  offer(tensors) {
    this.#tensors = tensors.filter((tensor) => this.#input.dtypes.includes(tensor.dtype));
    const chosen = this.#tensor.value;
    const name = (tensor) => `${tensor.name ?? `${tensor.handle.slice(0, 10)}…`} · ${tensor.dtype} [${tensor.shape.join(', ')}]`;
    this.#tensor.replaceChildren(
      ...(this.#tensors.length
        ? this.#tensors.map((tensor) => h('option', {value: tensor.handle}, name(tensor)))
        : [h('option', {value: ''}, `no tensor of dtype ${this.#input.dtypes.join(', ')}`)]),
    );
    if (this.#tensors.some((tensor) => tensor.handle === chosen)) this.#tensor.value = chosen;
  }

  #resident() {
    const tensor = this.#tensors.find((each) => each.handle === this.#tensor.value);
    if (!tensor) throw new Mistake(this.#path, 'No matching resident tensor. Keep an output of a run on the device, or choose another source.');
    return tensor;
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
    const {dtype, shape} = this.#source.value === 'resident' ? this.#resident() : {dtype: this.#dtype.value, shape: this.#extents};
    return `${this.#input.name}=${dtype}[${shape.join(',')}]`;
  }

  /** Returns the input as JSON text. */
  json() {
    if (this.#source.value === 'resident') return JSON.stringify({handle: this.#resident().handle});
    const dtype = this.#dtype.value;
    const shape = this.#extents;
    return `{"dtype":"${dtype}","shape":[${shape}],${this.#data(dtype, shape)}}`;
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
