/** Lists the resident tensors. */

import * as api from './api.js';
import {bytes, errorLine, h, label, setText, until} from './dom.js';
import {tensorView} from './result.js';
import {isBlock} from './values.js';

const COLUMNS = ['name', 'dtype', 'shape', 'size', 'version', 'expires', ''];

/** Maximum size of a preview in bytes. */
const MOST_PREVIEWED = 1 << 22;

export class TensorsView {
  #rows = new Map();
  #pages = 1;
  #cannotList = false;
  #body = h('tbody', {role: 'rowgroup'});
  #none = h(
    'div',
    {class: 'empty', hidden: true},
    h('p', {}, 'No tensors yet. ', h('a', {href: '#run'}, 'Run an op'), ' and keep its output on the device, or upload one:'),
    h('pre', {class: 'scroll'}, `curl ${new URL('..', location).href}tensors -H 'Content-Type: application/json' \\\n  -d '{"dtype": "f32", "shape": [2, 2], "data": [1, 2, 3, 4]}'`),
  );
  #table = h('div', {hidden: true});
  #count = h('span', {class: 'muted'});
  #more = h('button', {type: 'button', hidden: true}, 'Show more');
  #lease = h('input', {type: 'number', id: 'lease', min: 0, max: 315360000, step: 1, value: 3600});
  #failure = h('div');
  #preview = h('div', {id: 'preview', 'aria-live': 'polite'});

  constructor(section) {
    this.#more.addEventListener('click', () => {
      this.#pages++;
      this.refresh();
    });
    section.append(
      h('div', {class: 'row'}, h('h2', {}, 'Resident tensors'), this.#count, h('span', {class: 'field'}, h('label', {for: 'lease'}, 'new lease in seconds (0: until deleted)'), this.#lease)),
      this.#failure,
      h(
        'div',
        {class: 'panel scroll', tabindex: '0', role: 'region', 'aria-label': 'Tensors'},
        this.#table,
        this.#none,
        this.#more,
      ),
      this.#preview,
    );
    this.#table.append(h('table', {id: 'resident', class: 'cells', role: 'table'}, h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, ...COLUMNS.map((name) => (name ? h('th', {scope: 'col', role: 'columnheader', class: ['size', 'version'].includes(name) ? 'number' : null}, name) : h('td'))))), this.#body));
  }

  shown() {
    this.refresh();
  }

  /** Reloads the list; keeps existing rows, so that focus is not lost. */
  async refresh() {
    try {
      const {tensors, more} = await api.tensors(this.#pages);
      const rows = new Map(tensors.map((tensor) => [tensor.handle, this.#rows.get(tensor.handle) ?? this.#row(tensor)]));
      tensors.forEach((tensor) => rows.get(tensor.handle).update(tensor));
      for (const [handle, row] of this.#rows) {
        if (!rows.has(handle)) row.element.remove();
      }
      [...rows.values()].forEach((row, i) => {
        if (this.#body.children[i] !== row.element) this.#body.insertBefore(row.element, this.#body.children[i] ?? null);
      });
      this.#rows = rows;
      this.#none.hidden = tensors.length > 0;
      this.#table.hidden = tensors.length === 0;
      if (this.#cannotList) this.#failure.replaceChildren();
      this.#cannotList = false;
      this.#more.hidden = !more;
      setText(this.#count, `${tensors.length === 1 ? '1 tensor' : `${tensors.length} ${more ? 'newest ' : ''}tensors`}, ${bytes(tensors.reduce((sum, tensor) => sum + tensor.bytes, 0))}`);
    } catch (failure) {
      if (failure instanceof api.Unreachable) return; // the page reports it once for all views
      this.#cannotList = true;
      this.#explain(failure);
    }
  }

  #explain(failure) {
    this.#failure.replaceChildren(errorLine(failure));
  }

  async #try(action) {
    this.#failure.replaceChildren();
    try {
      await action();
      await this.refresh();
    } catch (failure) {
      this.#explain(failure);
    }
  }

  #row(first) {
    const {handle} = first;
    const name = first.name ?? handle;
    const version = h('td', {class: 'number'});
    const expires = h('td');
    const button = (words, action) => h('button', {type: 'button', 'aria-label': `${words} ${name}`, onclick: action}, words);
    const remove = button('Delete', () => {
      if (remove.dataset.sure) {
        this.#try(() => api.deleteTensor(handle));
      } else {
        remove.dataset.sure = 'asked';
        remove.textContent = 'Confirm';
        remove.setAttribute('aria-label', `Confirm deletion of ${name}`);
      }
    });
    remove.addEventListener('blur', () => {
      delete remove.dataset.sure;
      remove.textContent = 'Delete';
      remove.setAttribute('aria-label', `Delete ${name}`);
    });
    const element = h(
      'tr',
      {'data-handle': handle},
      h('th', {scope: 'row', title: handle}, first.name ? `${first.name} ` : null, h('code', {}, `${handle.slice(0, 10)}…`)),
      h('td', {}, first.dtype),
      h('td', {}, `[${first.shape.join(', ')}]`),
      h('td', {class: 'number'}, bytes(first.bytes)),
      version,
      expires,
      h(
        'td',
        {class: 'actions'},
        button('Preview', () => this.#try(() => this.#show(first))),
        button('Renew', () => this.#try(() => api.renewTensor(handle, this.#lease.valueAsNumber))),
        remove,
      ),
    );
    const update = (tensor) => {
      setText(version, String(tensor.version));
      setText(expires, tensor.expiresAt ? until(new Date(tensor.expiresAt)) : 'never');
      expires.title = tensor.expiresAt ?? '';
    };
    return {element: label(element, COLUMNS), update};
  }

  async #show(tensor) {
    if (isBlock(tensor.dtype)) throw new Error(`Cannot preview the block format ${tensor.dtype}. Run dequantize first.`);
    if (tensor.bytes > MOST_PREVIEWED) {
      throw new Error(`The tensor has ${bytes(tensor.bytes)}; previews are limited to ${bytes(MOST_PREVIEWED)}. Download it with GET /tensors/${tensor.handle}/data.`);
    }
    const data = await api.tensorData(tensor.handle);
    this.#preview.replaceChildren(
      h('div', {class: 'panel'}, h('h3', {}, tensor.name ?? tensor.handle, ' ', h('code', {}, `${data.dtype} [${data.shape.join(', ')}]`)), tensorView(data)),
    );
  }
}
