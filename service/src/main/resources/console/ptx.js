/** Shows the PTX that an op would run beside the Java that generated it, and its machine code. */

import * as api from './api.js';
import {accept, bytes, errorLine, h, newId, refuse} from './dom.js';
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

/** Parses the Java line of an instruction, such as `Elementwise.java:80`. */
function position(source) {
  const [, file, line] = /^(.*?)(?::(\d+).*)?$/.exec(source);
  return {file, number: Number(line ?? 0)};
}

/** Returns the Java lines of a kernel by file: those that generated PTX, and the lines around them that the service has. */
function javaLines(kernel, sources) {
  const files = new Map();
  const counts = new Map();
  for (const {source} of kernel.lines) {
    if (source === undefined) continue;
    counts.set(source, (counts.get(source) ?? 0) + 1);
    const {file, number} = position(source);
    if (!files.has(file)) files.set(file, new Map((sources.find((each) => each.file === file)?.lines ?? []).map((line) => [line.number, {text: line.text}])));
    const lines = files.get(file);
    lines.set(number, {...lines.get(number), source, count: counts.get(source)});
  }
  return files;
}

function javaRows(files) {
  const rows = [];
  for (const [file, lines] of files) {
    const sorted = [...lines].sort(([a], [b]) => a - b);
    rows.push(h('tr', {class: 'file'}, h('th', {colspan: 3, scope: 'colgroup'}, file, sorted.some(([, {text}]) => text !== undefined) ? null : ' (the service has no source of it)')));
    let last = sorted[0][0] - 1;
    for (const [number, {text = '', source, count}] of sorted) {
      if (number !== last + 1) rows.push(h('tr', {class: 'gap', 'aria-hidden': 'true'}, h('td', {colspan: 3}, '⋯')));
      last = number;
      rows.push(
        h(
          'tr',
          {'data-source': source, class: source ? null : 'around'},
          h('td', {class: 'number muted lineno'}, String(number)),
          h('td', {class: 'number muted'}, source ? `${count}` : ''),
          h('td', {class: 'code'}, text),
        ),
      );
    }
  }
  return rows;
}

function ptxRows(kernel) {
  const most = Math.max(kernel.registersLive, 1);
  return kernel.lines.map((line, i) => {
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
}

/** A table whose rows with a Java line can be selected, by pointer or with the arrow keys. */
class Listing {
  #table;
  #selectable;
  #at = null;

  constructor(name, head, rows, choose) {
    this.#selectable = rows.filter((row) => row.dataset.source !== undefined);
    for (const row of this.#selectable) row.id = newId();
    this.#table = h(
      'table',
      {class: 'ptx', role: 'grid', tabindex: '0', 'aria-label': name, 'aria-multiselectable': 'true'},
      h('thead', {}, h('tr', {}, ...head.map((title) => (title ? h('th', {scope: 'col'}, title) : h('td'))))),
      h('tbody', {}, ...rows),
    );
    this.element = h('div', {class: 'scroll listing'}, this.#table);
    const move = (row) => {
      this.#at = row;
      choose(row?.dataset.source, this);
    };
    this.#table.addEventListener('click', (event) => {
      const row = event.target.closest('tr');
      if (this.#selectable.includes(row)) move(row);
    });
    this.#table.addEventListener('keydown', (event) => {
      const at = this.#selectable.indexOf(this.#at);
      const last = this.#selectable.length - 1;
      const next = {ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last, Escape: -1}[event.key];
      if (next === undefined || last < 0) return;
      event.preventDefault();
      move(this.#selectable[next] ?? null);
    });
  }

  /** Marks the rows of a Java line; scrolls to the chosen row, or to the first if another listing chose. */
  mark(source, chosenHere) {
    for (const row of this.#selectable) {
      const marked = source !== undefined && row.dataset.source === source;
      row.classList.toggle('marked', marked);
      row.setAttribute('aria-selected', String(marked));
    }
    const first = this.#selectable.find((row) => row.dataset.source === source) ?? null;
    if (!chosenHere) this.#at = first;
    for (const row of this.#selectable) row.classList.toggle('current', row === this.#at);
    if (!this.#at) return this.#table.removeAttribute('aria-activedescendant');
    this.#table.setAttribute('aria-activedescendant', this.#at.id);
    const box = this.element;
    const top = this.#at.offsetTop;
    if (!chosenHere) box.scrollTop = top - box.clientHeight / 3;
    else if (top - 30 < box.scrollTop) box.scrollTop = top - 30;
    else if (top + 24 > box.scrollTop + box.clientHeight) box.scrollTop = top + 24 - box.clientHeight;
  }
}

function listings(kernel, sources) {
  const choose = (source, from) => both.forEach((each) => each.mark(source, each === from));
  const both = [
    new Listing(`Java of ${kernel.name}`, ['line', 'PTX', 'Java'], javaRows(javaLines(kernel, sources)), choose),
    new Listing(`PTX of ${kernel.name}`, ['line', 'PTX', 'Java source', 'live registers', ''], ptxRows(kernel), choose),
  ];
  return h('div', {class: 'beside'}, ...both.map((each) => each.element));
}

const facts = (list) => h('dl', {}, ...list.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {class: 'number'}, String(value)))));

function machineCode({target, problem, code}) {
  if (!code) return h('p', {class: 'error'}, problem);
  const classes = Object.entries(code.byClass).sort(([, a], [, b]) => b - a);
  return h(
    'div',
    {},
    facts([
      ['machine code', target],
      ['assembler', code.assembler],
      ['instructions', code.instructions],
      ['registers', code.registers],
      ['spilled', `${bytes(code.spillStoreBytes)} stored, ${bytes(code.spillLoadBytes)} loaded`],
      ['stack', bytes(code.stackBytes)],
    ]),
    facts(classes.map(([name, count]) => [name === 'OTHER' ? 'other' : name, count])),
  );
}

function kernelView(kernel, sources, assemble) {
  const button = h('button', {type: 'button'}, 'Assemble');
  const assembled = h('div', {class: 'assembled', 'aria-live': 'polite'}, button);
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      const {kernels} = await assemble();
      assembled.replaceChildren(machineCode(kernels.find((each) => each.name === kernel.name).machineCode));
    } catch (failure) {
      button.disabled = false;
      assembled.replaceChildren(button, errorLine(failure));
    }
  });
  return h(
    'article',
    {class: 'panel kernel'},
    h('h3', {}, kernel.name),
    facts([
      ['PTX', kernel.version],
      ['target', kernel.target],
      ['instructions', kernel.instructions],
      ['live registers', kernel.registersLive],
      ['live predicates', kernel.predicatesLive],
      ['static shared memory', bytes(kernel.staticSharedBytes)],
      ['threads per block', kernel.maxThreads],
    ]),
    assembled,
    h('p', {class: 'muted hint'}, 'Select a line to mark the lines of Java and PTX that belong together; arrow keys move, Escape clears.'),
    listings(kernel, sources),
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
      const [op, problem] = [this.#op.value, this.#problem.value];
      const plan = await api.plan(op, problem);
      if (this.#asked !== asked) return; // superseded by a newer request
      this.#result.replaceChildren(
        h('details', {class: 'panel'}, h('summary', {}, 'Why ', h('code', {}, plan.kernel), ' was chosen'), h('pre', {class: 'scroll'}, plan.explanation)),
        ...plan.kernels.map((kernel) => kernelView(kernel, plan.sources, () => api.plan(op, problem, true))),
      );
    } catch (failure) {
      if (this.#asked === asked) this.#result.replaceChildren(errorLine(failure));
    }
  }
}
