/** The form of an op and the result of the run. */

import * as api from './api.js';
import {LANGUAGES} from './code.js';
import {errorLine, h, setText} from './dom.js';
import {OpForm} from './form.js';
import {labelled} from './input.js';
import {answer} from './result.js';
import {Mistake} from './values.js';

/** Maximum length of code that is shown; longer code is copied in full. */
const MOST_SHOWN = 20000;

export class RunView {
  #section;
  #showPtx;
  #catalogue = [];
  #form;
  #link = '';
  #outputs = [];
  #invalid = false;
  #busy = false;
  #select = h('select', {id: 'op'});
  #about = h('div', {class: 'about'});
  #fields = h('div', {id: 'fields'});
  #submit = h('button', {class: 'primary'}, 'Run');
  #ptx = h('button', {type: 'button'}, 'Show PTX');
  #copies = Object.keys(LANGUAGES).map((language) => h('button', {type: 'button', 'aria-label': `Copy as ${language}`, onclick: () => this.#copy(language)}, language));
  #copied = h('span', {role: 'status'});
  #code = h('pre', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Code of this run'});
  #request = h('div', {class: 'request', hidden: true}, h('div', {class: 'row'}, this.#copied, h('button', {type: 'button', onclick: () => this.#hideCode()}, 'Hide')), this.#code);
  #failure = h('div');
  #result = h('div', {id: 'result', 'aria-live': 'polite'});

  /** @param showPtx called with the name of an op and a problem */
  constructor(section, showPtx) {
    this.#section = section;
    this.#showPtx = showPtx;
    const form = h(
      'form',
      {class: 'panel', novalidate: true}, // errors are shown at the field, in the service's words
      h('div', {class: 'row'}, h('h2', {}, 'Run'), h('span', {class: 'field'}, h('label', {for: 'op'}, 'op'), this.#select)),
      this.#about,
      this.#fields,
      this.#failure,
      h('div', {class: 'row buttons'}, this.#submit, this.#ptx, h('span', {class: 'field copies'}, h('span', {'aria-hidden': 'true'}, 'Copy as'), ...this.#copies)),
      this.#request,
    );
    this.#select.addEventListener('change', () => {
      this.#build();
      this.#remember();
    });
    for (const change of ['input', 'change']) {
      this.#fields.addEventListener(change, () => {
        this.#check();
        this.#remember();
      });
    }
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#run();
    });
    this.#ptx.addEventListener('click', () => this.#guard(() => this.#showPtx(this.#form.op.name, this.#form.problem)));
    section.append(h('div', {class: 'split'}, form, h('div', {class: 'panel'}, h('h2', {}, 'Result'), this.#result)));
  }

  describe(catalogue) {
    this.#catalogue = catalogue;
    this.#select.replaceChildren(...catalogue.map((op) => h('option', {}, op.name)));
    if (catalogue.some((op) => op.name === 'matmul')) this.#select.value = 'matmul';
    this.#open(this.#link);
  }

  /** @param link the op and its parameters, matmul?M=64; empty to keep the form */
  async shown(link = '') {
    if (link && link !== this.#link) this.#open(link);
    else this.#remember();
    await this.#offer();
  }

  // -- the form and its link

  #open(link) {
    this.#link = link;
    if (!this.#catalogue.length) return;
    const [, name, parameters] = /^([^?]*)\??(.*)$/s.exec(link);
    const op = this.#catalogue.find((each) => encodeURIComponent(each.name) === name);
    if (op) this.#select.value = op.name;
    else this.#link = '';
    this.#build();
    const mistakes = op ? this.#form.fill(parameters) : name ? [new Mistake('', `The service has no op ${name}.`)] : [];
    this.#check();
    mistakes.forEach((mistake) => this.#explain(mistake));
    this.#remember();
  }

  /** Shows the form in the URL. Another op is a new entry of the browser's history. */
  #remember() {
    if (this.#section.hidden || !this.#form) return;
    const opOf = (link) => link.split('?')[0];
    const isOther = this.#link && opOf(this.#link) !== opOf(this.#form.link);
    this.#link = this.#form.link;
    const hash = `#run/${this.#link}`;
    if (location.hash !== hash) history[isOther ? 'pushState' : 'replaceState'](null, '', hash);
  }

  #build() {
    const op = this.#catalogue.find((each) => each.name === this.#select.value);
    this.#outputs = [];
    this.#form = new OpForm(op, ({name, shape}) => {
      const field = h('select', {'data-output': name}, h('option', {value: 'inline'}, 'show inline'), h('option', {value: 'handle'}, 'keep on the device'));
      this.#outputs.push({name, field});
      return labelled(`${name} ${shape}`, field);
    });
    this.#about.replaceChildren(h('p', {}, op.summary), h('p', {}, h('code', {}, op.formula)));
    this.#fields.replaceChildren(this.#form.element);
    this.#submit.textContent = `Run ${op.name}`;
    this.#noResult();
    this.#check();
    this.#offer();
  }

  /** Offers no tensors if the key lacks the scope to list them. The page reports a lost connection by itself. */
  async #offer() {
    try {
      const {tensors} = await api.tensors(10);
      this.#form?.offer(tensors);
    } catch (failure) {
      if (failure.status !== 403 && !(failure instanceof api.Unreachable)) this.#explain(failure);
    }
  }

  #body() {
    const inputs = this.#form.given.map((input) => `${JSON.stringify(input.name)}:${input.json()}`);
    const outputs = Object.fromEntries(this.#outputs.filter(({field}) => field.value === 'handle').map(({name}) => [name, {as: 'handle'}]));
    return `{"inputs": {\n  ${inputs.join(',\n  ')}\n},\n"attributes": ${JSON.stringify(this.#form.attributes)},\n"outputs": ${JSON.stringify(outputs)}}`;
  }

  // -- the run as code

  #hideCode() {
    this.#request.hidden = true;
  }

  /** Shows and copies the code that sends what Run sends. */
  async #copy(language) {
    const form = this.#form;
    const code = this.#guard(() =>
      LANGUAGES[language]({
        url: new URL('..', location).href.replace(/\/$/, ''),
        usesKey: api.currentKey() !== '',
        op: form.op.name,
        body: this.#body(),
        inputs: form.given.map((input) => [input.name, input.value]),
        attributes: form.changed,
        outputs: form.op.outputs.map((output, i) => ({...output, kept: this.#outputs[i].field.value === 'handle'})),
      }),
    );
    if (code === undefined) return;
    const isCut = code.length > MOST_SHOWN;
    setText(this.#code, isCut ? `${code.slice(0, MOST_SHOWN)} …` : code);
    this.#request.hidden = false;
    try {
      await navigator.clipboard.writeText(code);
      setText(this.#copied, `Copied as ${language}${isCut ? '; the end is not shown' : ''}.`);
    } catch {
      getSelection().selectAllChildren(this.#code); // browsers restrict the clipboard to HTTPS and localhost
      setText(this.#copied, `Cannot write to the clipboard. Press Ctrl+C to copy ${isCut ? 'what is shown' : 'the selection'}.`);
    }
    this.#request.scrollIntoView({block: 'nearest'});
  }

  // -- running the op

  #noResult() {
    this.#result.replaceChildren(h('p', {class: 'muted'}, 'No result yet. Press Run; the inputs are filled with random numbers.'));
  }

  /** Shows an error message at each invalid field, which disables Run. */
  #check() {
    this.#failure.replaceChildren();
    this.#hideCode(); // of an earlier state
    this.#invalid = !this.#form.check();
    this.#enable();
  }

  #enable() {
    this.#submit.disabled = this.#invalid || this.#busy;
    for (const button of [this.#ptx, ...this.#copies]) button.disabled = this.#invalid;
  }

  /** Shows an error message at its field, or else at the buttons. */
  #explain(failure) {
    const line = this.#form.explain(failure.field ?? '', failure);
    if (line) line.scrollIntoView({block: 'nearest'});
    else this.#failure.append(errorLine(failure));
  }

  #guard(action) {
    this.#failure.replaceChildren();
    this.#form.clear();
    try {
      return action();
    } catch (failure) {
      this.#explain(failure);
      return undefined;
    }
  }

  async #run() {
    const form = this.#form;
    const asked = this.#guard(() => ({body: this.#body(), problem: form.problem}));
    this.#noResult();
    if (!asked) return;
    this.#busy = true;
    this.#enable();
    this.#result.setAttribute('aria-busy', 'true');
    try {
      const given = await api.run(form.op.name, asked.body);
      if (this.#form === form) this.#result.replaceChildren(answer(given, () => this.#showPtx(form.op.name, asked.problem)));
      await this.#offer();
    } catch (failure) {
      if (this.#form === form) this.#explain(failure);
    } finally {
      this.#busy = false;
      this.#enable();
      this.#result.removeAttribute('aria-busy');
    }
  }
}
