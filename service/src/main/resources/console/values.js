/** Generates and parses input elements, as JSON text, so that numbers are sent exactly as typed. */

/** Returns whether a dtype is a block format, whose elements cannot be typed. */
export const isBlock = (dtype) => /^(q\d|nf4)/.test(dtype);

export const isInteger = (dtype) => /^[iu]\d/.test(dtype);

const MOST = 1 << 22;

/** An invalid field value, found without asking the service. */
export class Mistake extends Error {
  /** @param role the data-role of the field within its input */
  constructor(field, sentence, role = '') {
    super(sentence);
    this.field = field;
    this.role = role;
  }
}

/** Mulberry32 by T. Ettinger: small, and the same everywhere for the same seed. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the number of elements of a shape; throws if there are too many to generate. */
export function elements(shape, field) {
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (count > MOST) {
    throw new Mistake(field, `[${shape.join(', ')}] has ${count} elements; this page generates at most ${MOST}. Upload the tensor to /tensors and choose it here.`, 'shape');
  }
  return count;
}

/** Parses a shape, such as "8, 16"; an empty text is a scalar. */
export function readShape(text, field) {
  const inner = text.trim().replace(/^\[(.*)\]$/, '$1').trim();
  const parts = inner ? inner.split(/\s*[,×x]\s*|\s+/) : [];
  for (const part of parts) {
    if (!/^[1-9]\d{0,15}$/.test(part)) {
      throw new Mistake(field, `“${part}” is not an extent. A shape is positive integers separated by commas, such as 8, 16.`, 'shape');
    }
  }
  return parts.map(Number);
}

export function zeros(dtype, shape, field) {
  return `[${Array(elements(shape, field)).fill(dtype === 'bool' ? 'false' : '0').join(',')}]`;
}

/** Generates uniformly distributed numbers from `low` to `high`, inclusive for integers. */
export function random(dtype, shape, {seed, low, high}, field) {
  if (![seed, low, high].every(Number.isFinite) || low > high) {
    throw new Mistake(field, `Random numbers need a seed, and bounds with from ≤ to; got seed ${seed}, from ${low} to ${high}.`);
  }
  const next = generator(seed);
  const draw =
    dtype === 'bool'
      ? () => next() < 0.5
      : isInteger(dtype)
        ? () => Math.floor(low + next() * (high - low + 1))
        : () => Number((low + next() * (high - low)).toFixed(4));
  return `[${Array.from({length: elements(shape, field)}, draw).join(',')}]`;
}

/** Parses numbers separated by spaces, commas, semicolons or brackets; their count must match the shape. */
export function typed(text, shape, field) {
  const words = text.split(/[\s,;[\]]+/).filter(Boolean);
  const numbers = words.map((word) => {
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(word) || word === 'true' || word === 'false') return word;
    if (['NaN', 'Infinity', '-Infinity'].includes(word)) return `"${word}"`;
    throw new Mistake(field, `“${word}” is not a number. Separate numbers by spaces or commas; NaN, Infinity and -Infinity are allowed.`, 'numbers');
  });
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (numbers.length !== count) {
    throw new Mistake(field, `[${shape.join(', ')}] has ${count} ${count === 1 ? 'element' : 'elements'}; got ${numbers.length} ${numbers.length === 1 ? 'number' : 'numbers'}.`, 'numbers');
  }
  return `[${numbers.join(',')}]`;
}
