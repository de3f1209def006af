/** Shows the PTX that an op would run, with the Java lines that generated it. */

import * as api from './api.js';
import {accept, bytes, errorLine, h, refuse} from './dom.js';
import {example, wrongRank} from './shapes.js';
import {readShape} from './values.js';

/** An instruction; does not match directives, labels and braces. */
const INSTRUCTION = /^(\s*)(@!?\S+ )?([a-z][\w.:]*)(.*)$/;

function code({text, source}) {
  const parts = source === undefined ? null : INSTRUCTION.exec(text);
  if (!parts) return h('td', {class: 'code directive'}, text);
  const [, indent, predicate = '', opcode, operands] = parts;
  return h('td', {class: 'code'}, indent, predicate, h('b', {}, opcode), operands);
}

function listing(kernel) {
  const most = Math.max(kernel.registersLive, 1);
  const counts = new Map();
  for (const {source} of kernel.lines) {
    if (source !== undefined) counts.set(source, (counts.get(source) ?? 0) + 1);
  }
  const rows = kernel.lines.map((line, i) => {
    const bar = h('span', {class: 'live', 'aria-hidden': 'true'});
    bar.style.width = `${(60 * (line.live ?? 0)) / most}px`;
    return h(
      'tr',
      {'data-source': line.source},
      h('td', {class: 'number muted lineno'}, String(i + 1)),
      code(line),
      h('td', {class: 'source'}, line.source ?? ''),
      h('td', {class: 'number'}, line.live === undefined ? '' : String(line.live)),
      h('td', {}, line.live === undefined ? null : bar),
    );
  });
  const which = h(
    'select',
    {'aria-label': `Java line to highlight in ${kernel.name}`},
    h('option', {value: ''}, 'no Java line'),
    ...[...counts].sort((a, b) => b[1] - a[1]).map(([source, count]) => h('option', {value: source}, `${source} (${count})`)),
  );
  const table = h('table', {class: 'ptx'});
  const listed = h('div', {class: 'scroll listing', tabindex: '0', role: 'region', 'aria-label': `PTX of ${kernel.name}`}, table);
  which.addEventListener('change', () => {
    for (const row of rows) row.classList.toggle('marked', which.value !== '' && row.dataset.source === which.value);
    const first = rows.find((row) => row.classList.contains('marked'));
    if (first) listed.scrollTop = first.offsetTop - listed.clientHeight / 3;
  });
  const head = ['line', 'PTX', 'Java source', 'live registers', ''];
  table.append(h('thead', {}, h('tr', {}, ...head.map((name) => (name ? h('th', {scope: 'col'}, name) : h('td'))))), h('tbody', {}, ...rows));
  return [h('div', {class: 'row'}, h('span', {class: 'field'}, h('span', {}, 'highlight instructions from'), which)), listed];
}

function kernelView(kernel) {
  const facts = [
    ['PTX', kernel.version],
    ['target', kernel.target],
    ['instructions', kernel.instructions],
    ['live registers', kernel.registersLive],
    ['live predicates', kernel.predicatesLive],
    ['static shared memory', bytes(kernel.staticSharedBytes)],
    ['threads per block', kernel.maxThreads],
  ];
  return h(
    'article',
    {class: 'panel kernel'},
    h('h3', {}, kernel.name),
    h('dl', {}, ...facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {class: 'number'}, String(value))))),
    ...listing(kernel),
  );
}

export class PtxView {
  #section;
  #op = h('select', {id: 'ptx-op'});
  #problem = h('input', {id: 'ptx-problem', size: 40, autocomplete: 'off', spellcheck: 'false', placeholder: 'a=f16[64,64] b=f16[64,64]', required: true});
  #result = h('div', {id: 'listing', 'aria-live': 'polite'});
  #catalogue = [];
  #asked = null;

  constructor(section) {
    const form = h(
      'form',
      {class: 'panel row'},
      h('span', {class: 'field'}, h('label', {for: 'ptx-op'}, 'op'), this.#op),
      h('span', {class: 'field wide'}, h('label', {for: 'ptx-problem'}, 'inputs and attributes'), this.#problem),
      h('button', {class: 'primary'}, 'Show'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.#check()) this.#show();
    });
    this.#problem.addEventListener('input', () => this.#check());
    this.#op.addEventListener('change', () => {
      this.#problem.value = this.#example();
      accept(this.#problem);
      this.#show();
    });
    section.append(h('h2', {}, 'PTX'), form, this.#result);
    this.#section = section;
  }

  describe(catalogue) {
    this.#catalogue = catalogue;
    const chosen = this.#op.value || 'matmul';
    this.#op.replaceChildren(...catalogue.map((op) => h('option', {}, op.name)));
    if (catalogue.some((op) => op.name === chosen)) this.#op.value = chosen;
    if (!this.#section.hidden) this.shown();
  }

  /** Shows an example at first. */
  shown() {
    if (!this.#catalogue.length || this.#problem.value) return;
    this.#problem.value = this.#example();
    this.#show();
  }

  get #described() {
    return this.#catalogue.find((each) => each.name === this.#op.value);
  }

  #example() {
    return this.#described ? example(this.#described) : '';
  }

  /** Returns whether the shapes can be valid; otherwise shows an error message at the field. */
  #check() {
    accept(this.#problem);
    try {
      for (const [, name, text] of this.#problem.value.matchAll(/(\w+)=\w+\[([^\]]*)\]/g)) {
        const shape = readShape(text, name);
        const input = this.#described?.inputs.find((each) => each.name === name);
        const wrong = input && wrongRank(input.shape, shape);
        if (wrong) throw new Error(`${name}: ${wrong}`);
      }
      return true;
    } catch (mistake) {
      refuse(this.#problem, mistake);
      return false;
    }
  }

  /** Shows the kernels of a problem. */
  ask(op, problem) {
    this.#op.value = op;
    this.#problem.value = problem;
    accept(this.#problem);
    this.#show();
  }

  async #show() {
    const asked = {};
    this.#asked = asked;
    this.#result.replaceChildren(h('p', {class: 'muted'}, 'Planning …'));
    try {
      const plan = await api.plan(this.#op.value, this.#problem.value);
      if (this.#asked !== asked) return; // superseded by a newer request
      this.#result.replaceChildren(
        h('details', {class: 'panel'}, h('summary', {}, 'Why ', h('code', {}, plan.kernel), ' was chosen'), h('pre', {class: 'scroll'}, plan.explanation)),
        ...plan.kernels.map(kernelView),
      );
    } catch (failure) {
      if (this.#asked === asked) this.#result.replaceChildren(errorLine(failure));
    }
  }
}
