/** Helpers for DOM elements and for formatting numbers. */

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Creates an element: `h('td', {class: 'number', onclick: f}, 'text', child)`. */
export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** Creates an SVG element. */
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Gives a row and its cells the roles and labels that they need as a card. */
export function label(row, names) {
  row.setAttribute('role', 'row');
  [...row.children].forEach((cell, i) => {
    cell.setAttribute('role', cell.tagName === 'TD' ? 'cell' : 'rowheader');
    if (names[i]) cell.dataset.label = names[i];
  });
  return row;
}

/**
 * Creates a table whose rows become cards on narrow screens; the roles keep its meaning there.
 *
 * @param columns their names; a name that ends with a dot is of numbers
 * @return {element, fill}; `fill` takes rows of cells, the first of which names the row
 */
export function table(id, ...columns) {
  const names = columns.map((column) => column.replace(/\.$/, ''));
  const kind = (i) => (columns[i].endsWith('.') ? 'number' : null);
  const head = h('tr', {role: 'row'}, ...names.map((name, i) => h('th', {scope: 'col', role: 'columnheader', class: kind(i)}, name)));
  const body = h('tbody', {role: 'rowgroup'});
  const cell = (content, i) => h(i ? 'td' : 'th', {scope: i ? null : 'row', class: kind(i)}, content);
  const element = h('table', {id, class: 'cells', role: 'table'}, h('thead', {role: 'rowgroup'}, head), body);
  const fill = (rows) => {
    const filled = h('tbody', {role: 'rowgroup'}, ...rows.map((row) => label(h('tr', {}, ...row.map(cell)), names)));
    // unchanged rows stay, so that selections do
    if (filled.innerHTML !== body.innerHTML) body.replaceChildren(...filled.children);
  };
  return {element, fill};
}

let lastId = 0;

/** Returns a unique element id. */
export const newId = () => `e${++lastId}`;

/** Sets an element's text only if it differs, so that screen readers and selections are not disturbed. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const refusals = new WeakMap();

/** Marks a field as invalid and shows the error message after it. */
export function refuse(field, failure, place = field.closest('.field')) {
  const line = errorLine(failure);
  line.id = newId();
  field.setAttribute('aria-invalid', 'true');
  field.setAttribute('aria-errormessage', line.id);
  refusals.set(field, line);
  place.after(line);
  return line;
}

/** Removes the error message that {@link refuse} added. */
export function accept(field) {
  refusals.get(field)?.remove();
  field.removeAttribute('aria-invalid');
  field.removeAttribute('aria-errormessage');
}

/** Creates the element of an error message. */
export const errorLine = (failure) => h('p', {class: 'error', role: 'alert'}, failure.message);

/** Formats a number with three significant digits; uses an exponent only for very large and very small numbers. */
export function digits(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return size >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** Formats a duration in µs, ms or s. */
export function duration(seconds) {
  if (seconds === 0) return '0 µs';
  if (seconds < 1e-3) return `${digits(seconds * 1e6)} µs`;
  return seconds < 1 ? `${digits(seconds * 1e3)} ms` : `${digits(seconds)} s`;
}

export function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${unit === 0 ? count : digits(count)} ${units[unit]}`;
}

/** Formats a tensor element with six significant digits. */
export function element(value) {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(6)));
}

/** Formats the time until a moment: "in 59 min". */
export function until(moment) {
  const seconds = (moment - Date.now()) / 1000;
  if (seconds <= 0) return 'now';
  if (seconds < 90) return `in ${Math.round(seconds)} s`;
  if (seconds < 5400) return `in ${Math.round(seconds / 60)} min`;
  return seconds < 129600 ? `in ${Math.round(seconds / 3600)} h` : `in ${Math.round(seconds / 86400)} d`;
}
