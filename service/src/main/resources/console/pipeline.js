/** The editor of a pipeline: steps as cards, whose inputs may be outputs of earlier steps. */

import * as api from './api.js';
import {errorLine, h, newId, setText} from './dom.js';
import {OpForm} from './form.js';
import {labelled} from './input.js';
import {pipelineAnswer} from './result.js';

/** The steps of the first pipeline. */
const EXAMPLE = ['matmul', 'softmax'];

/** The op of a step that is added. */
const ADDED = 'relu';

/** A step: its op and the form of the op. */
class Card {
  form;
  #id;
  #catalogue;
  #outputs = [];
  #title = h('h3');
  #select = h('select', {'data-role': 'op', id: newId()});
  #about = h('p', {class: 'muted'});
  #body = h('div');
  #failure = h('div');
  #moves;

  /**
   * @param id a number that no other card has
   * @param actions {changed, move, remove}, called with this card
   */
  constructor(id, catalogue, op, {changed, move, remove}) {
    this.#id = id;
    this.#catalogue = catalogue;
    this.#select.append(...catalogue.map(({name}) => h('option', {}, name)));
    this.#select.value = op;
    this.#select.addEventListener('change', () => {
      const [reference] = this.form.inputs.map((input) => input.reference);
      this.#build();
      if (reference) this.refer(reference);
      changed();
    });
    this.#moves = [
      ['up', '↑', -1],
      ['down', '↓', 1],
    ].map(([word, sign, by]) => ({word, button: h('button', {type: 'button', onclick: () => move(this, by)}, sign)}));
    this.remove = h('button', {type: 'button', onclick: () => remove(this)}, 'Remove');
    this.element = h(
      'li',
      {class: 'panel step'},
      h(
        'div',
        {class: 'row'},
        this.#title,
        h('span', {class: 'field'}, h('label', {for: this.#select.id}, 'op'), this.#select),
        h('span', {class: 'actions'}, ...this.#moves.map(({button}) => button), this.remove),
      ),
      this.#about,
      this.#body,
      this.#failure,
    );
    this.#build();
  }

  #build() {
    const op = this.#catalogue.find(({name}) => name === this.#select.value);
    this.#outputs = [];
    this.form = new OpForm(op, (output) => this.#outputField(output), true);
    setText(this.#about, op.summary);
    this.#body.replaceChildren(this.form.element);
  }

  #outputField({name, shape, optional}) {
    const named = h('input', {size: 8, value: `${name}${this.#id}`, autocomplete: 'off', spellcheck: 'false', 'data-name': name});
    const use = h('select', {'data-output': name}, h('option', {value: ''}, 'show if no step reads it'), h('option', {value: 'inline'}, 'show inline'), h('option', {value: 'handle'}, 'keep on the device'));
    if (optional) use.firstChild.textContent = 'omit if no step reads it';
    this.#outputs.push({key: `${this.#id}.${this.#outputs.length}`, name, optional, named, use});
    return [labelled(`${name} ${shape} as`, named), h('span', {class: 'field'}, use)];
  }

  get op() {
    return this.form.op.name;
  }

  /** Numbers the card. */
  number(index, count) {
    this.place = `step ${index + 1}`;
    setText(this.#title, `Step ${index + 1}`);
    this.remove.setAttribute('aria-label', `Remove ${this.place}`);
    this.#moves.forEach(({word, button}, i) => {
      button.setAttribute('aria-label', `Move ${this.place} ${word}`);
      button.disabled = index === (i === 0 ? 0 : count - 1);
    });
    for (const {name, use} of this.#outputs) use.setAttribute('aria-label', `Use of ${name} of ${this.place}`);
  }

  /** Focuses what moved the card, or else its opposite. */
  focusMove(by) {
    const [up, down] = this.#moves.map(({button}) => button);
    const [same, opposite] = by < 0 ? [up, down] : [down, up];
    (same.disabled ? opposite : same).focus();
  }

  focus() {
    this.#select.focus();
  }

  /** Returns the outputs as pairs of key and name. */
  get outputs() {
    return this.#outputs.map(({key, named}) => [key, named.value]);
  }

  /** Makes the first input an output of an earlier step. */
  refer(key) {
    this.form.inputs[0]?.refer(key);
  }

  check(earlier) {
    this.#failure.replaceChildren();
    for (const input of this.form.inputs) input.offerOutputs(earlier);
    return this.form.check();
  }

  /** Shows an error message at a field of this step, or else at its end. */
  explain(path, failure) {
    const line = this.form.explain(path, failure) ?? errorLine(failure);
    if (!line.isConnected) this.#failure.append(line);
    return line;
  }

  /** Returns the path of the output with a name; undefined if there is none. */
  outputNamed(text) {
    return this.#outputs.filter(({named}) => named.value === text).map(({name}) => `outputs.${name}`)[0];
  }

  /**
   * Returns the step for the request.
   *
   * @param names the names of outputs by key
   * @param inputs where tensors are added, as members of a JSON object
   */
  step(names, inputs) {
    const from = {};
    for (const input of this.form.given) {
      from[input.name] = names.get(input.reference) ?? `${this.place} ${input.name}`;
      if (!input.reference) inputs.push(`${JSON.stringify(from[input.name])}: ${input.json()}`);
    }
    return {op: this.op, inputs: from, attributes: this.form.attributes};
  }

  /** Returns the outputs that are read or wanted, by their names in the op, and what becomes of those that are wanted. */
  results(read) {
    const isShown = ({key, optional, use}) => use.value || !(optional || read.has(key));
    const used = this.#outputs.filter((output) => isShown(output) || read.has(output.key));
    return {
      outputs: Object.fromEntries(used.map(({name, named}) => [name, named.value])),
      wanted: used.filter(isShown).map(({named, use}) => [named.value, {as: use.value || 'inline'}]),
    };
  }
}

export class PipelineView {
  #section;
  #catalogue = [];
  #cards = [];
  #ids = 0;
  #tensors = [];
  #invalid = false;
  #busy = false;
  #list = h('ol', {class: 'steps'});
  #status = h('p', {role: 'status', class: 'muted'});
  #add = h('button', {type: 'button', onclick: () => this.#append(ADDED).focus()}, 'Add step');
  #submit = h('button', {class: 'primary'}, 'Run pipeline');
  #failure = h('div');
  #result = h('div', {id: 'pipeline-result', 'aria-live': 'polite'});

  constructor(section) {
    this.#section = section;
    const form = h(
      'form',
      {novalidate: true}, // errors are shown at the field, in the service's words
      h('div', {class: 'row'}, h('h2', {}, 'Pipeline'), this.#status),
      this.#list,
      this.#failure,
      h('div', {class: 'row buttons panel'}, this.#submit, this.#add),
    );
    for (const change of ['input', 'change']) this.#list.addEventListener(change, () => this.#check());
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#run();
    });
    section.append(h('div', {class: 'split'}, form, h('div', {class: 'panel'}, h('h2', {}, 'Result'), this.#result)));
  }

  describe(catalogue) {
    this.#catalogue = catalogue;
    this.#cards = [];
    this.#list.replaceChildren();
    if (!this.#section.hidden) this.shown();
  }

  /** Shows an example at first. */
  async shown() {
    if (!this.#catalogue.length) return;
    if (!this.#cards.length) {
      this.#noResult();
      EXAMPLE.forEach((op) => this.#append(op));
    }
    await this.#offer();
  }

  // -- editing

  #append(op) {
    const known = this.#catalogue.some(({name}) => name === op) ? op : this.#catalogue[0].name;
    const card = new Card(++this.#ids, this.#catalogue, known, {
      changed: () => {
        card.form.offer(this.#tensors);
        this.#arrange(`Step ${this.#cards.indexOf(card) + 1} is now ${card.op}.`);
      },
      move: (moved, by) => this.#move(moved, by),
      remove: (removed) => this.#remove(removed),
    });
    const [last] = this.#cards.at(-1)?.outputs ?? [];
    if (last) card.refer(last[0]);
    card.form.offer(this.#tensors);
    this.#cards.push(card);
    this.#arrange();
    return card;
  }

  #move(card, by) {
    const from = this.#cards.indexOf(card);
    this.#cards.splice(from, 1);
    this.#cards.splice(from + by, 0, card);
    this.#arrange(`${card.op} is now step ${from + by + 1} of ${this.#cards.length}.`);
    card.focusMove(by);
  }

  #remove(card) {
    const index = this.#cards.indexOf(card);
    this.#cards.splice(index, 1);
    card.element.remove();
    this.#arrange(`Removed ${card.op}, ${card.place}.`);
    (this.#cards[index] ?? this.#cards.at(-1) ?? {focus: () => this.#add.focus()}).focus();
  }

  /** Shows the cards in their order; says what has changed. */
  #arrange(change = '') {
    this.#cards.forEach((card, i) => card.number(i, this.#cards.length));
    this.#cards.forEach(({element}, i) => {
      const {children} = this.#list;
      if (children[i] !== element) this.#list.insertBefore(element, children[i] ?? null); // the others keep the focus
    });
    setText(this.#status, change || `${this.#cards.length === 1 ? '1 step' : `${this.#cards.length} steps`}`);
    this.#check();
  }

  /** Offers no tensors if the key lacks the scope to list them. The page reports a lost connection by itself. */
  async #offer() {
    try {
      this.#tensors = (await api.tensors(10)).tensors;
      for (const {form} of this.#cards) form.offer(this.#tensors);
    } catch (failure) {
      if (failure.status !== 403 && !(failure instanceof api.Unreachable)) this.#explain(failure);
    }
  }

  // -- running

  #noResult() {
    this.#result.replaceChildren(h('p', {class: 'muted'}, 'No result yet. All steps run in one request; intermediate tensors stay on the device.'));
  }

  #check() {
    this.#failure.replaceChildren();
    const earlier = [];
    this.#invalid = this.#cards.length === 0;
    this.#cards.forEach((card, i) => {
      if (!card.check(earlier)) this.#invalid = true;
      earlier.push(...card.outputs.map(([key, name]) => [key, `${name}, step ${i + 1} ${card.op}`]));
    });
    this.#enable();
  }

  #enable() {
    this.#submit.disabled = this.#invalid || this.#busy;
  }

  #body() {
    const names = new Map(this.#cards.flatMap((card) => card.outputs));
    const read = new Set(this.#cards.flatMap((card) => card.form.given.map((input) => input.reference)));
    const inputs = [];
    const wanted = [];
    const steps = this.#cards.map((card, i) => {
      const results = card.results(read);
      wanted.push(...results.wanted);
      try {
        return {...card.step(names, inputs), outputs: results.outputs};
      } catch (mistake) {
        mistake.step = i;
        throw mistake;
      }
    });
    return `{"inputs": {${inputs.join(',\n')}},\n"steps": ${JSON.stringify(steps)},\n"outputs": ${JSON.stringify(Object.fromEntries(wanted))}}`;
  }

  /** Returns the card that an error concerns and the path of the field in it: steps[1].inputs.a, or a name of the request. */
  #place({field = '', step}) {
    const inStep = /^steps\[(\d+)\]\.?(.*)$/s.exec(field);
    if (inStep) return [this.#cards[inStep[1]], inStep[2]];
    const input = /^inputs\.step (\d+) (.*)$/s.exec(field);
    if (input) return [this.#cards[input[1] - 1], `inputs.${input[2]}`];
    const output = this.#cards.find((card) => field.startsWith('outputs.') && card.outputNamed(field.slice('outputs.'.length)));
    if (output) return [output, output.outputNamed(field.slice('outputs.'.length))];
    return [this.#cards[step], field];
  }

  #explain(failure) {
    const [card, path] = this.#place(failure);
    if (card) card.explain(path, failure).scrollIntoView({block: 'nearest'});
    else this.#failure.append(errorLine(failure));
  }

  async #run() {
    this.#check();
    this.#noResult();
    if (this.#invalid) return;
    this.#busy = true;
    this.#enable();
    this.#result.setAttribute('aria-busy', 'true');
    try {
      this.#result.replaceChildren(pipelineAnswer(await api.runPipeline(this.#body())));
      await this.#offer();
    } catch (failure) {
      this.#explain(failure);
    } finally {
      this.#busy = false;
      this.#enable();
      this.#result.removeAttribute('aria-busy');
    }
  }
}
