/** Extents for a description's shapes, such as "[…, M, K]" or "[K/groupSize, N]". */

/** What makes most ops run at once; any other extent is as good. */
const USUAL = {B: 1, Hq: 4, Hkv: 2, Sq: 16, Sk: 16, S: 16, P: 16, D: 64, Dv: 64, V: 32, Smax: 32, maxBlocks: 2};
const OTHERWISE = 8;

/** In K/8 and [K/groupSize, N] the extent is a multiple of what divides it. */
const DIVIDED = 128;

/** What an op's example needs besides the required inputs, since the description gives no default. */
const NEEDED = {cast: {to: 'f16'}, dequantize: {scale: 'f32[]'}, rope: {theta: 10000}, 'rms-norm-rope': {heads: 4, headDim: 64}};

const NAME = /\p{L}[\p{L}\p{N}]*/gu;

/** The terms of the first shape that a description names. */
function terms(shape) {
  const inner = /^\[([^\]]*)\]/.exec(shape)?.[1] ?? '';
  const all = inner.split(',').map((term) => term.trim()).filter(Boolean);
  const named = all.filter((term) => term !== '…');
  if (!named.length && all.length) return ['M', 'N'];
  return named.length === 1 && all[0] === '…' ? ['rows', ...named] : named;
}

/** The names that stand for extents, attributes aside, each with what to begin with. */
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
  if (blocks && found.has('K')) found.set('K', 256); // the longest block
  return found;
}

/** A term with products and quotients, from left to right; null when a name has no value. */
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
 * Why a shape cannot be what a description asks for; null where it can, or where the description has more than one
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

/** The text of a problem that an op takes: the inputs and attributes that it needs, with the extents that forms begin with. */
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

/** The dtype that forms begin with. */
export const usualDtype = (input) => (input.dtypes.includes('f32') ? 'f32' : input.dtypes[0]);

/** The text of a shape, "8, 16"; terms that cannot be known yet are left as they are. */
export const extents = (shape, values) => terms(shape).map((term) => evaluate(term, values) ?? term).join(', ');
