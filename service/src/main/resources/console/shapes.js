/** Computes extents from described shapes, such as "[…, M, K]" or "[K/groupSize, N]". */

/** Default extents, for which most ops run; any other extent works as well. */
const USUAL = {B: 1, Hq: 4, Hkv: 2, Sq: 16, Sk: 16, S: 16, P: 16, D: 64, Dv: 64, V: 32, Smax: 32, maxBlocks: 2};
const OTHERWISE = 8;

/** In K/8 and [K/groupSize, N], the extent must be a multiple of the divisor. */
const DIVIDED = 128;

/** Attributes without a default that an op's example needs in addition to the required inputs. */
const NEEDED = {cast: {to: 'f16'}, dequantize: {scale: 'f32[]'}, rope: {theta: 10000}, 'rms-norm-rope': {heads: 4, headDim: 64}};

const NAME = /\p{L}[\p{L}\p{N}]*/gu;

/** Returns the terms of the first shape in a description. */
function terms(shape) {
  const inner = /^\[([^\]]*)\]/.exec(shape)?.[1] ?? '';
  const all = inner.split(',').map((term) => term.trim()).filter(Boolean);
  const named = all.filter((term) => term !== '…');
  if (!named.length && all.length) return ['M', 'N'];
  return named.length === 1 && all[0] === '…' ? ['rows', ...named] : named;
}

/** Returns the symbolic extents, without attributes, and their initial values. */
export function letters(op) {
  const attributes = new Set(op.attributes.map((attribute) => attribute.name));
  const found = new Map();
  for (const input of op.inputs.filter((each) => !each.optional)) {
    for (const term of terms(input.shape)) {
      for (const [name] of term.matchAll(NAME)) {
        if (attributes.has(name)) continue;
        const usual = term.includes('/') ? DIVIDED : (USUAL[name] ?? OTHERWISE);
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

/**
 * Returns why a shape does not match a description; null if it matches, or if the description has more than one
 * shape.
 */
export function wrongRank(described, shape) {
  if (!/^\[[^\]]+\]$/.test(described)) return null;
  const all = described.slice(1, -1).split(',').map((term) => term.trim());
  const named = all.filter((term) => term !== '…').length;
  const open = named < all.length;
  if (open ? shape.length >= named : shape.length === named) return null;
  return `[${shape.join(', ')}] has ${shape.length} ${shape.length === 1 ? 'dimension' : 'dimensions'}; ${described} needs ${open ? `at least ${named}` : named}.`;
}

/** Returns an example problem of an op: the required inputs and attributes, with default extents. */
export function example(op) {
  const needed = NEEDED[op.name] ?? {};
  const sizes = letters(op);
  for (const attribute of op.attributes) {
    if (attribute.type === 'integer') sizes.set(attribute.name, needed[attribute.name] ?? attribute.default);
  }
  return op.inputs
    .filter((input) => !input.optional)
    .map((input) => `${input.name}=${usualDtype(input)}[${extents(input.shape, sizes).replaceAll(' ', '')}]`)
    .concat(Object.entries(needed).map(([name, value]) => `${name}=${value}`))
    .join(' ');
}

/** Returns the default dtype of an input. */
export const usualDtype = (input) => (input.dtypes.includes('f32') ? 'f32' : input.dtypes[0]);

/** Formats a shape, "8, 16"; terms without a value are kept as text. */
export const extents = (shape, values) => terms(shape).map((term) => evaluate(term, values) ?? term).join(', ');
