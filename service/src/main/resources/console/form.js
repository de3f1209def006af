/** The fields of an op, generated from its description: sizes, inputs, attributes and outputs. */

import {accept, h, newId, refuse} from './dom.js';
import {InputFields, labelled} from './input.js';
import {isNeeded, letters, term, usualValue} from './shapes.js';
import {Mistake} from './values.js';

/** Creates a list of choices; one without a value can stay unset. */
function choice(common, choices, value) {
  const none = value === null ? [h('option', {value: ''}, '–')] : [];
  const field = h('select', common, ...none, ...choices.map((each) => h('option', {}, each)));
  field.value = value ?? '';
  return field;
}

const list = (element) => `\\s*${element}\\s*(,\\s*${element}\\s*)*`;

/** The patterns of lists, such as 0,2. */
const LISTS = {
  integers: list('-?[0-9]+'),
  numbers: list('-?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+\\-]?[0-9]+)?'),
};

const NAMES = {integer: 'an integer', number: 'a number', integers: 'integers such as 0,2', numbers: 'numbers such as 0.5,2'};

/** Creates the field of an attribute. */
function attributeField(attribute, value) {
  const common = {'data-attribute': attribute.name};
  switch (attribute.type) {
    case 'boolean':
      if (value === null) return choice(common, ['true', 'false'], value);
      return h('input', {...common, type: 'checkbox', checked: value});
    case 'choice':
      return choice(common, attribute.choices, value);
    case 'text':
    case 'integers':
    case 'numbers':
      return h('input', {...common, autocomplete: 'off', spellcheck: 'false', required: attribute.required, pattern: LISTS[attribute.type], value});
    default:
      return h('input', {
        ...common,
        type: 'number',
        step: attribute.type === 'integer' ? 1 : 'any',
        min: attribute.minimum,
        max: attribute.maximum,
        required: attribute.required,
        value,
      });
  }
}

/** Names the values that an attribute may have: "an integer, at least 1". */
function range({type, minimum, maximum, choices}) {
  if (type === 'boolean') return 'true or false';
  if (type === 'text') return 'a text';
  if (type === 'choice') return `one of ${choices.join(', ')}`;
  const limits = [['at least', minimum], ['at most', maximum]].filter(([, limit]) => Number.isFinite(limit)).map((each) => each.join(' '));
  return `${NAMES[type]}${limits.length ? `, ${limits.join(' and ')}` : ''}`;
}

/** Returns the text of a field. */
const read = (field) => (field.type === 'checkbox' ? String(field.checked) : field.value);

function write(field, text) {
  if (field.type === 'checkbox') field.checked = text === 'true';
  else field.value = text;
}

/** Converts the text of a field. */
function parse(type, text) {
  if (type === 'boolean') return text === 'true';
  if (type === 'choice' || type === 'text') return text;
  return type in LISTS ? text.split(',').map(Number) : Number(text);
}

/** Returns the value of an attribute; undefined if it is unset or the default. */
function attributeValue({type, default: usual}, field) {
  const text = read(field);
  if (text === '') return undefined;
  const value = parse(type, text);
  return usual !== null && String(value) === String(usual) ? undefined : value;
}

/** Returns the inputs with all members of lists. */
const members = (inputs) => inputs.flatMap((input) => Array.from({length: input.list?.count ?? 1}, (_, i) => (i ? {...input, name: `${input.list.name}${i}`, optional: true, follows: true} : input)));

const encode = (text) => encodeURIComponent(text).replace(/%(5B|5D|2C)/g, decodeURIComponent); // [ ] and , stay readable

export class OpForm {
  element;
  #sizes;
  #sizeFields;
  #attributes;

  /**
   * @param op its description in GET /ops
   * @param outputField creates the fields of an output
   * @param isInStep whether inputs may be outputs of earlier steps of a pipeline
   */
  constructor(op, outputField, isInStep = false) {
    this.op = op;
    this.inputs = members(op.inputs).map((input, i) => new InputFields(input, i + 1, isNeeded(op, input), isInStep));
    this.#sizes = [...letters(op)].map(([name, value]) => ({
      name,
      kind: 'a positive integer',
      field: h('input', {type: 'number', min: 1, step: 1, required: true, value, 'data-size': name}),
    }));
    this.#attributes = op.attributes.map((attribute) => ({
      name: attribute.name,
      kind: range(attribute),
      attribute,
      field: attributeField(attribute, usualValue(op, attribute)),
    }));
    for (const each of this.#named) each.usual = read(each.field);
    this.#sizeFields = h('fieldset', {class: 'sizes'}, h('legend', {}, 'Sizes'), h('span', {class: 'fields'}, ...this.#sizes.map(({name, field}) => labelled(name, field))));
    this.element = h(
      'div',
      {},
      this.#sizeFields,
      ...this.inputs.map((input) => input.element),
      ...(op.attributes.length ? [this.#attributeFields(isInStep)] : []),
      h('fieldset', {}, h('legend', {}, 'Outputs'), ...op.outputs.map((output) => h('div', {class: 'fields', 'data-field': `outputs.${output.name}`}, outputField(output)))),
    );
  }

  /** Returns the attributes; in a step, which should be short, they are folded. */
  #attributeFields(isFolded) {
    const rows = this.#attributes.map(({attribute, field}) => {
      const meaning = h('p', {class: 'muted', id: newId()}, attribute.meaning);
      field.setAttribute('aria-describedby', meaning.id);
      return h('div', {class: 'attribute', 'data-field': `attributes.${attribute.name}`}, labelled(attribute.name, field), meaning);
    });
    const [outer, inner] = isFolded ? ['details', 'summary'] : ['fieldset', 'legend'];
    return h(outer, {}, h(inner, {}, 'Attributes'), ...rows);
  }

  get #named() {
    return [...this.#sizes, ...this.#attributes];
  }

  /** Offers resident tensors as inputs. */
  offer(tensors) {
    this.inputs.forEach((input) => input.offer(tensors));
  }

  // -- values

  get given() {
    return this.inputs.filter((input) => input.isGiven && !input.element.hidden);
  }

  /** Returns the attributes to send, as pairs of description and value. */
  get changed() {
    return this.#attributes.map(({attribute, field}) => [attribute, attributeValue(attribute, field)]).filter(([, value]) => value !== undefined);
  }

  get attributes() {
    return Object.fromEntries(this.changed.map(([{name}, value]) => [name, value]));
  }

  /** Returns the problem that GET /ops/{op}/ptx plans. */
  get problem() {
    return [...this.given.map((input) => input.problem()), ...this.changed.map(([{name}, value]) => term(name, value))].join(' ');
  }

  /** Returns the op and what differs from its usual form: matmul?M=64&a=f16&transposeB=true. */
  get link() {
    const changes = [
      ...this.#named.map(({name, field, usual}) => [name, read(field) === usual ? null : read(field)]),
      ...this.inputs.map((input) => [input.name, input.term]),
    ];
    const terms = changes.filter(([, text]) => text !== null).map((pair) => pair.map(encode).join('='));
    return encode(this.op.name) + (terms.length ? `?${terms.join('&')}` : '');
  }

  /** Fills the form with the parameters of a link, in which sizes may be lowercase; returns the mistakes in them. */
  fill(parameters) {
    const mistakes = [];
    for (const [name, text] of new URLSearchParams(parameters)) {
      try {
        this.#set(name, text);
      } catch (mistake) {
        mistakes.push(mistake);
      }
    }
    return mistakes;
  }

  #set(name, text) {
    const input = this.inputs.find((each) => each.name === name);
    if (input) {
      input.fill(text);
      return;
    }
    const named = this.#named.find((each) => each.name === name) ?? this.#sizes.find((each) => each.name.toLowerCase() === name);
    if (!named) {
      const names = [...this.#named, ...this.inputs].map((each) => each.name);
      throw new Mistake('', `${this.op.name} has no parameter ${name}; it has ${names.join(', ') || 'none'}.`);
    }
    const {field, kind, usual} = named;
    write(field, text);
    if (read(field) !== text) {
      write(field, usual);
      throw new Mistake(`${named.attribute ? 'attributes' : 'sizes'}.${named.name}`, `${named.name} must be ${kind}; got ${text}.`);
    }
  }

  /** Shows the inputs of a list up to the first that is not given. */
  #showLists() {
    this.inputs.forEach((input, i) => {
      const last = this.inputs[i - 1];
      if (input.follows) input.element.hidden = !last.isGiven || last.element.hidden;
    });
  }

  // -- errors

  clear() {
    for (const field of this.element.querySelectorAll('[aria-invalid]')) accept(field);
  }

  /** Computes the shapes and shows an error message at each invalid field; returns whether there is none. */
  check() {
    this.clear();
    this.#showLists();
    this.#sizeFields.hidden = !this.#sizes.length || !this.given.some((input) => input.isGenerated);
    const used = this.#sizeFields.hidden ? this.#attributes : this.#named;
    const wrong = used.filter(({field}) => !field.validity.valid);
    for (const {name, field, kind} of wrong) {
      refuse(field, {message: `${name} must be ${kind}${field.value && `; got ${field.value}`}.`}, field.closest('.attribute')?.lastElementChild);
    }
    if (!wrong.length) {
      const values = new Map(this.#named.map(({name, field}) => [name, field.valueAsNumber]));
      this.inputs.forEach((input) => input.resize(values));
    }
    const mistaken = this.given.filter((input) => {
      try {
        input.check();
        return false;
      } catch (mistake) {
        return input.refuse(mistake);
      }
    });
    return wrong.length + mistaken.length === 0;
  }

  /** Shows an error message at the field of a path such as inputs.a.data[3]; returns its line, or null without a field. */
  explain(path, failure) {
    const leads = (field) => path === field || path.startsWith(`${field}.`);
    const input = this.inputs.find((each) => leads(`inputs.${each.name}`));
    if (input) return input.refuse(failure);
    const size = this.#sizes.find((each) => path === `sizes.${each.name}`);
    if (size) return refuse(size.field, failure);
    const place = [...this.element.querySelectorAll('[data-field]')].find((each) => leads(each.dataset.field));
    if (!place) return null;
    const folded = place.closest('details');
    if (folded) folded.open = true;
    return refuse(place.querySelector('input, select'), failure, place.lastElementChild);
  }
}
