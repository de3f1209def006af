/** Computes extents from described shapes, such as "[…, M, K]" or "[K/groupSize, N]". */

/** Default extents, for which most ops run; any other extent works as well. */
const USUAL = {B: 1, Hq: 4, Hkv: 2, Sq: 16, Sk: 16, S: 16, P: 16, D: 64, Dv: 64, V: 32, Smax: 32, maxBlocks: 2};
const OTHERWISE = 8;

/** Default extents of single ops. */
const OF_OP = {'gather-nd': {K: 1}, quantize: {N: 32}, 'rms-norm-rope': {N: 256}, 'scatter-nd': {K: 1}};

/** In K/8 and [K/groupSize, N], the extent must be a multiple of the divisor. */
const DIVIDED = 128;

/** Attributes and optional inputs without which the service rejects a call with the default dtypes. */
const NEEDED = {
  dequantize: {scale: true},
  expand: {shape: 1},
  map: {expression: 'where(x > 0, x, x / 2)'},
  resize: {scales: 2},
  rope: {theta: 10000},
  'rms-norm-rope': {heads: 4, headDim: 64},
  slice: {starts: 0, ends: 4},
  split: {parts: 2},
};

/** Returns whether an example of the op has this input. */
export const isNeeded = (op, input) => !input.optional || Boolean(NEEDED[op.name]?.[input.name]);

/** Returns the value of an attribute in an example of the op; null if it needs none. */
export function usualValue(op, attribute) {
  const first = attribute.required && attribute.type !== 'text' ? (attribute.choices?.[0] ?? attribute.minimum ?? 1) : null;
  return NEEDED[op.name]?.[attribute.name] ?? attribute.default ?? first;
}

const NAME = /\p{L}[\p{L}\p{N}]*/gu;

/** Returns whether a term stands for any number of leading dimensions: "…", or "…a" with a name. */
const isLeading = (term) => term.startsWith('…');

/** Returns the terms of the first shape in a description; […] has the leading dimensions of the inputs before it. */
function terms(shape, sizes) {
  const inner = /^\[([^\]]*)\]/.exec(shape)?.[1] ?? '';
  const all = inner.split(',').map((term) => term.trim()).filter(Boolean);
  const named = all.filter((term) => !isLeading(term));
  if (!named.length && all.length) return all.length === 1 && sizes.has('rows') ? ['rows'] : ['M', 'N'];
  return named.length === 1 && isLeading(all[0]) ? ['rows', ...named] : named;
}

/** Returns the symbolic extents, without attributes, and their initial values. */
export function letters(op) {
  const attributes = new Set(op.attributes.map((attribute) => attribute.name));
  const found = new Map();
  for (const input of op.inputs.filter((each) => !each.optional)) {
    for (const term of terms(input.shape, found)) {
      for (const [name] of term.matchAll(NAME)) {
        if (attributes.has(name)) continue;
        const usual = term.includes('/') ? DIVIDED : (OF_OP[op.name]?.[name] ?? USUAL[name] ?? OTHERWISE);
        found.set(name, Math.max(found.get(name) ?? 0, usual));
      }
    }
  }
  const blocks = op.inputs.some((input) => input.dtypes.some((dtype) => dtype.endsWith('_k')));
  if (blocks && found.has('K')) found.set('K', 256); // the largest block size
  return found;
}

/** Evaluates a term of products and quotients from left to right; null if a name has no value. */
function evaluate(term, values) {
  let result = 1;
  let divide = false;
  for (const token of term.match(/\p{L}[\p{L}\p{N}]*|\d+|[·*/]/gu) ?? []) {
    if (token === '/') divide = true;
    else if (token === '·' || token === '*') divide = false;
    else {
      const value = /^\d/.test(token) ? Number(token) : values.get(token);
      if (!value) return null;
      result = divide ? Math.max(Math.floor(result / value), 1) : result * value;
    }
  }
  return result;
}

/** Returns why a shape matches none of the described forms; null if it matches one, or if a form has words. */
export function wrongRank(described, shape) {
  const forms = described.split(' or ').map((form) => /^(\[[^\]]*\])( with [\w -]+)?$/.exec(form)?.[1]);
  if (forms.includes(undefined)) return null;
  const ranks = forms.map((form) => {
    const all = form.slice(1, -1).split(',').map((term) => term.trim()).filter(Boolean);
    const named = all.filter((term) => !isLeading(term)).length;
    return {named, open: named < all.length};
  });
  if (ranks.some(({named, open}) => (open ? shape.length >= named : shape.length === named))) return null;
  const [{named, open}] = ranks;
  return `[${shape.join(', ')}] has ${shape.length} ${shape.length === 1 ? 'dimension' : 'dimensions'}; ${forms[0]} needs ${open ? `at least ${named}` : named}.`;
}

/** Returns an attribute's term of a problem: axes=0,2 or order="x1 x0". */
export const term = (name, value) => `${name}=${/\s|\]$/.test(value) ? `"${value}"` : value}`;

/** Returns an example problem of an op: what a call needs, with default extents. */
export function example(op) {
  const sizes = letters(op);
  const values = op.attributes.map((attribute) => [attribute, usualValue(op, attribute)]);
  for (const [attribute, value] of values) {
    if (attribute.type === 'integer') sizes.set(attribute.name, value);
  }
  return op.inputs
    .filter((input) => isNeeded(op, input))
    .map((input) => `${input.name}=${usualDtype(input)}[${extents(input.shape, sizes).replaceAll(' ', '')}]`)
    .concat(values.filter(([attribute, value]) => value !== attribute.default).map(([attribute, value]) => term(attribute.name, value)))
    .join(' ');
}

/** Returns the default dtype of an input. */
export const usualDtype = (input) => (input.dtypes.includes('f32') ? 'f32' : input.dtypes[0]);

/** Formats a shape, "8, 16"; terms without a value are kept as text. */
export const extents = (shape, values) => terms(shape, values).map((term) => evaluate(term, values) ?? term).join(', ');
