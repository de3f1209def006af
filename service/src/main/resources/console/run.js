/** The form of an op, generated from its description, and the result of the run. */

import * as api from './api.js';
import {accept, errorLine, h, newId, refuse} from './dom.js';
import {InputFields, labelled} from './input.js';
import {answer} from './result.js';
import {isNeeded, letters, usualValue} from './shapes.js';

/** Creates a list of choices; one without a value can stay unset. */
function choice(common, choices, value) {
  const none = value === null ? [h('option', {value: ''}, '–')] : [];
  const field = h('select', common, ...none, ...choices.map((each) => h('option', {}, each)));
  field.value = value ?? '';
  return field;
}

/** Creates the field of an attribute. */
function attributeField(attribute, value) {
  const common = {'data-attribute': attribute.name};
  switch (attribute.type) {
    case 'boolean':
      if (value === null) return choice(common, ['true', 'false'], value);
      return h('input', {...common, type: 'checkbox', checked: value});
    case 'choice':
      return choice(common, attribute.choices, value);
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
function range({type, minimum, maximum}) {
  const limits = [['at least', minimum], ['at most', maximum]].filter(([, limit]) => Number.isFinite(limit)).map((each) => each.join(' '));
  return `${type === 'integer' ? 'an integer' : 'a number'}${limits.length ? `, ${limits.join(' and ')}` : ''}`;
}

/** Returns the text of a field. */
const read = (field) => (field.type === 'checkbox' ? String(field.checked) : field.value);

/** Returns the value of an attribute; undefined if it is unset or the default. */
function attributeValue({type, default: usual}, field) {
  const text = read(field);
  if (text === '') return undefined;
  const value = type === 'boolean' ? text === 'true' : type === 'choice' ? text : Number(text);
  return value === usual ? undefined : value;
}

export class RunView {
  #showPtx;
  #catalogue = [];
  #op;
  #sizes = [];
  #inputs = [];
  #attributes = [];
  #outputs = [];
  #invalid = false;
  #busy = false;
  #select = h('select', {id: 'op'});
  #about = h('div', {class: 'about'});
  #fields = h('div', {id: 'fields'});
  #submit = h('button', {class: 'primary'}, 'Run');
  #ptx = h('button', {type: 'button'}, 'Show PTX');
  #failure = h('div');
  #form;
  #result = h('div', {id: 'result', 'aria-live': 'polite'});

  /** @param showPtx called with the name of an op and a problem */
  constructor(section, showPtx) {
    this.#showPtx = showPtx;
    this.#form = h(
      'form',
      {class: 'panel', novalidate: true}, // errors are shown at the field, in the service's words
      h('div', {class: 'row'}, h('h2', {}, 'Run'), h('span', {class: 'field'}, h('label', {for: 'op'}, 'op'), this.#select)),
      this.#about,
      this.#fields,
      this.#failure,
      h('div', {class: 'row buttons'}, this.#submit, this.#ptx),
    );
    this.#select.addEventListener('change', () => this.#build());
    for (const change of ['input', 'change']) this.#fields.addEventListener(change, () => this.#check());
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#run();
    });
    this.#ptx.addEventListener('click', () => this.#guard(() => this.#showPtx(this.#op.name, this.#problem())));
    section.append(h('div', {class: 'split'}, this.#form, h('div', {class: 'panel'}, h('h2', {}, 'Result'), this.#result)));
  }

  describe(catalogue) {
    this.#catalogue = catalogue;
    this.#select.replaceChildren(...catalogue.map((op) => h('option', {}, op.name)));
    if (catalogue.some((op) => op.name === 'matmul')) this.#select.value = 'matmul';
    this.#build();
  }

  async shown() {
    await this.#offer();
  }

  // -- the form

  #build() {
    const op = this.#catalogue.find((each) => each.name === this.#select.value);
    if (!op) return;
    this.#op = op;
    this.#inputs = op.inputs.map((input, i) => new InputFields(input, i + 1, isNeeded(op, input)));
    this.#attributes = op.attributes.map((attribute) => ({attribute, field: attributeField(attribute, usualValue(op, attribute))}));
    this.#sizes = [...letters(op)].map(([name, value]) => ({name, field: h('input', {type: 'number', min: 1, step: 1, required: true, value, 'data-size': name})}));
    this.#outputs = op.outputs.map((output) => ({
      output,
      field: h('select', {'data-output': output.name}, h('option', {value: 'inline'}, 'show inline'), h('option', {value: 'handle'}, 'keep on the device')),
    }));
    this.#about.replaceChildren(h('p', {}, op.summary), h('p', {}, h('code', {}, op.formula)));
    this.#fields.replaceChildren(
      ...(this.#sizes.length ? [this.#sizeFields()] : []),
      ...this.#inputs.map((input) => input.element),
      ...(op.attributes.length ? [this.#attributeFields()] : []),
      h(
        'fieldset',
        {},
        h('legend', {}, 'Outputs'),
        ...this.#outputs.map(({output, field}) => h('div', {'data-field': `outputs.${output.name}`}, labelled(`${output.name} ${output.shape}`, field))),
      ),
    );
    this.#submit.textContent = `Run ${op.name}`;
    this.#noResult();
    this.#check();
    this.#offer();
  }

  #sizeFields() {
    return h('fieldset', {class: 'sizes'}, h('legend', {}, 'Sizes'), h('span', {class: 'fields'}, ...this.#sizes.map(({name, field}) => labelled(name, field))));
  }

  #attributeFields() {
    return h(
      'fieldset',
      {},
      h('legend', {}, 'Attributes'),
      ...this.#attributes.map(({attribute, field}) => {
        const meaning = h('p', {class: 'muted', id: newId()}, attribute.meaning);
        field.setAttribute('aria-describedby', meaning.id);
        return h('div', {class: 'attribute', 'data-field': `attributes.${attribute.name}`}, labelled(attribute.name, field), meaning);
      }),
    );
  }

  /** Offers no tensors if the key lacks the scope to list them. The page reports a lost connection by itself. */
  async #offer() {
    try {
      const {tensors} = await api.tensors(10);
      this.#inputs.forEach((input) => input.offer(tensors));
    } catch (failure) {
      if (failure.status !== 403 && !(failure instanceof api.Unreachable)) this.#explain(failure);
    }
  }

  // -- values of the form

  get #given() {
    return this.#inputs.filter((input) => input.isGiven);
  }

  get #changed() {
    return this.#attributes
      .map(({attribute, field}) => [attribute.name, attributeValue(attribute, field)])
      .filter(([, value]) => value !== undefined);
  }

  #problem() {
    return [...this.#given.map((input) => input.problem()), ...this.#changed.map(([name, value]) => `${name}=${value}`)].join(' ');
  }

  #body() {
    const inputs = this.#op.inputs
      .map((input, i) => [input.name, this.#inputs[i]])
      .filter(([, fields]) => fields.isGiven)
      .map(([name, fields]) => `${JSON.stringify(name)}:${fields.json()}`);
    const outputs = Object.fromEntries(this.#outputs.filter(({field}) => field.value === 'handle').map(({output}) => [output.name, {as: 'handle'}]));
    return `{"inputs":{${inputs.join(',')}},"attributes":${JSON.stringify(Object.fromEntries(this.#changed))},"outputs":${JSON.stringify(outputs)}}`;
  }

  // -- running the op

  #noResult() {
    this.#result.replaceChildren(h('p', {class: 'muted'}, 'No result yet. Press Run; the inputs are filled with random numbers.'));
  }

  #clear() {
    this.#failure.replaceChildren();
    for (const field of this.#form.querySelectorAll('[aria-invalid]')) accept(field);
  }

  /** Computes the shapes, and shows an error message at each invalid field, which disables Run. */
  #check() {
    this.#clear();
    const numbers = [
      ...this.#sizes.map((size) => ({...size, kind: 'a positive integer'})),
      ...this.#attributes.map(({attribute, field}) => ({name: attribute.name, field, kind: range(attribute)})),
    ];
    const wrong = numbers.filter(({field}) => !field.validity.valid);
    for (const {name, field, kind} of wrong) {
      const message = `${name} must be ${kind}${field.value && `; got ${field.value}`}.`;
      refuse(field, {message}, field.closest('.attribute')?.lastElementChild);
    }
    if (!wrong.length) {
      const values = new Map(numbers.map(({name, field}) => [name, field.valueAsNumber]));
      this.#inputs.forEach((input) => input.resize(values));
    }
    const mistaken = this.#inputs.filter((input) => {
      try {
        input.check();
        return false;
      } catch (mistake) {
        return input.refuse(mistake);
      }
    });
    this.#invalid = wrong.length + mistaken.length > 0;
    this.#enable();
  }

  #enable() {
    this.#submit.disabled = this.#invalid || this.#busy;
  }

  /** Shows an error message at its field, or else at the buttons. */
  #explain(failure) {
    const path = failure.field ?? '';
    if (failure.role) {
      this.#inputs[this.#op.inputs.findIndex((input) => path === `inputs.${input.name}`)].refuse(failure).scrollIntoView({block: 'nearest'});
      return;
    }
    const place = [...this.#form.querySelectorAll('[data-field]')].find(
      (each) => path === each.dataset.field || path.startsWith(`${each.dataset.field}.`),
    );
    if (!place) {
      this.#failure.replaceChildren(errorLine(failure));
      return;
    }
    const field = place.querySelector('[data-role=shape]') ?? place.querySelector('input:not([type=checkbox]), textarea, select') ?? place.querySelector('input');
    refuse(field, failure, place.lastElementChild).scrollIntoView({block: 'nearest'});
  }

  #guard(action) {
    this.#clear();
    try {
      return action();
    } catch (failure) {
      this.#explain(failure);
      return undefined;
    }
  }

  async #run() {
    const op = this.#op;
    const asked = this.#guard(() => ({body: this.#body(), problem: this.#problem()}));
    this.#noResult();
    if (!asked) return;
    this.#busy = true;
    this.#enable();
    this.#result.setAttribute('aria-busy', 'true');
    try {
      const given = await api.run(op.name, asked.body);
      if (this.#op === op) this.#result.replaceChildren(answer(given, () => this.#showPtx(op.name, asked.problem)));
      await this.#offer();
    } catch (failure) {
      if (this.#op === op) this.#explain(failure);
    } finally {
      this.#busy = false;
      this.#enable();
      this.#result.removeAttribute('aria-busy');
    }
  }
}
