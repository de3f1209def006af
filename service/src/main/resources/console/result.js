/** Shows the result of a run: times, kernel and outputs. */

import {bytes, duration, element, h, newId} from './dom.js';
import {heatmap} from './heatmap.js';
import {PHASES} from './metrics.js';

const MOST_ROWS = 16;
const MOST_COLUMNS = 16;

/** Splits a tensor into matrices: the rows and columns of its last two dimensions, and the number of matrices. */
function matrices(shape) {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.at(-2) ?? 1;
  return {rows, columns, count: shape.slice(0, -2).reduce((product, extent) => product * extent, 1)};
}

function table(values, rows, columns) {
  const [shownRows, shownColumns] = [Math.min(rows, MOST_ROWS), Math.min(columns, MOST_COLUMNS)];
  const indices = (count) => Array.from({length: count}, (_, i) => i);
  const all = shownRows === rows && shownColumns === columns;
  return h(
    'div',
    {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Values'},
    h(
      'table',
      {class: 'values'},
      h('caption', {}, all ? 'All values' : `First ${shownRows} × ${shownColumns} of ${rows} × ${columns} values`),
      h('thead', {}, h('tr', {}, h('td'), ...indices(shownColumns).map((column) => h('th', {scope: 'col'}, String(column))))),
      h(
        'tbody',
        {},
        ...indices(shownRows).map((row) =>
          h('tr', {}, h('th', {scope: 'row'}, String(row)), ...indices(shownColumns).map((column) => h('td', {class: 'number'}, element(values[row * columns + column])))),
        ),
      ),
    ),
  );
}

/** Shows a heat map and the first values of a tensor {dtype, shape, data}. */
export function tensorView({shape, data}) {
  const flat = data.flat(Infinity);
  const {rows, columns, count} = matrices(shape);
  const body = h('div');
  const show = (index) => {
    const values = flat.slice(index * rows * columns, (index + 1) * rows * columns);
    body.replaceChildren(heatmap(values.map(Number), rows, columns), table(values, rows, columns));
  };
  show(0);
  if (count === 1) return body;
  const which = h('input', {type: 'number', min: 0, max: count - 1, value: 0, id: newId()});
  which.addEventListener('input', () => {
    if (which.validity.valid && which.value) show(which.valueAsNumber);
  });
  return h('div', {}, h('span', {class: 'field'}, h('label', {for: which.id}, `matrix, 0 to ${count - 1}`), which), body);
}

const typeOf = ({dtype, shape}) => `${dtype} [${shape.join(', ')}]`;

function output(name, given) {
  const heading = h('h3', {}, `${name} `, h('code', {}, typeOf(given)));
  if (given.handle) {
    return h('section', {}, heading, h('p', {}, 'Kept on the device as ', h('code', {}, given.handle), `, ${bytes(given.bytes)}. `, h('a', {href: '#tensors'}, 'Resident tensors')));
  }
  return h('section', {}, heading, given.data ? tensorView(given) : h('p', {class: 'muted'}, 'Block formats cannot be displayed. Keep the output on the device to use it as an input.'));
}

function timing(timings) {
  const micros = (phase) => timings[`${phase}Micros`];
  const parts = PHASES.filter((phase) => phase !== 'total');
  const bar = h('div', {class: 'bar phases', 'aria-hidden': 'true'});
  for (const phase of parts) {
    const part = h('span', {class: phase});
    part.style.width = `${(100 * micros(phase)) / Math.max(micros('total'), 0.1)}%`;
    bar.append(part);
  }
  return [
    bar,
    h(
      'dl',
      {class: 'timing'},
      ...PHASES.map((phase) => h('div', {}, h('dt', {class: `key ${phase}`}, phase), h('dd', {class: 'number'}, duration(micros(phase) / 1e6)))),
    ),
  ];
}

/** Shows the kernel and time of each step, with bars on one scale. */
function steps(given) {
  const most = Math.max(...given.map((step) => step.kernelMicros), 0.1);
  return h(
    'div',
    {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Steps'},
    h(
      'table',
      {class: 'step-times'},
      h('thead', {}, h('tr', {}, ...['step', 'kernel', 'time'].map((name) => h('th', {scope: 'col', class: name === 'time' ? 'number' : null}, name)), h('td'))),
      h(
        'tbody',
        {},
        ...given.map(({op, kernel, kernelMicros}, i) => {
          const bar = h('span', {class: 'kernel'});
          bar.style.width = `${(100 * kernelMicros) / most}%`;
          return h(
            'tr',
            {},
            h('th', {scope: 'row'}, `${i + 1} ${op}`),
            h('td', {}, h('code', {}, kernel)),
            h('td', {class: 'number'}, duration(kernelMicros / 1e6)),
            h('td', {}, h('div', {class: 'bar', 'aria-hidden': 'true'}, bar)),
          );
        }),
      ),
    ),
  );
}

/** Shows the response of POST /pipelines/run. */
export function pipelineAnswer(given) {
  return h(
    'div',
    {},
    h('p', {}, `${given.steps.length === 1 ? '1 step' : `${given.steps.length} steps`} on ${given.device}`),
    steps(given.steps),
    ...timing(given.timing),
    ...Object.entries(given.outputs).map(([name, each]) => output(name, each)),
  );
}

/** Shows the response of POST /ops/{op}. */
export function answer(given, showPtx) {
  return h(
    'div',
    {},
    h(
      'div',
      {class: 'row'},
      h('p', {}, 'Kernel ', h('code', {id: 'kernel'}, given.kernel), ` on ${given.device}`),
      h('button', {type: 'button', onclick: showPtx}, 'Show PTX of this run'),
    ),
    ...timing(given.timing),
    ...Object.entries(given.outputs).map(([name, each]) => output(name, each)),
  );
}
