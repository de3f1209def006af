/** Elements for inputs: as JSON's text, so that what is typed arrives as it was typed. */

/** Dtypes whose elements are no numbers that could be typed. */
export const isBlock = (dtype) => /^(q\d|nf4)/.test(dtype);

export const isInteger = (dtype) => /^[iu]\d/.test(dtype);

const MOST = 1 << 22;

/** A mistake in a field that the service need not be asked about. */
export class Mistake extends Error {
  /** @param role of the field within its input: its data-role */
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

/** The number of elements, where the page generates them. */
export function elements(shape, field) {
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (count > MOST) {
    throw new Mistake(field, `[${shape.join(', ')}] has ${count} elements; this page generates at most ${MOST}. Upload the tensor to /tensors and choose it here.`, 'shape');
  }
  return count;
}

/** Reads "8, 16"; an empty text is a scalar's. */
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

/** Evenly spread from `low` to `high`, of which integers may be both. */
export function random(dtype, shape, {seed, low, high}, field) {
  if (![seed, low, high].every(Number.isFinite) || low > high) {
    throw new Mistake(field, `random numbers need a seed and two bounds, the lower first; got ${low} to ${high}`);
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

/** Reads numbers with blanks, commas, semicolons or brackets between them, as many as the shape has elements. */
export function typed(text, shape, field) {
  const words = text.split(/[\s,;[\]]+/).filter(Boolean);
  const numbers = words.map((word) => {
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(word) || word === 'true' || word === 'false') return word;
    if (['NaN', 'Infinity', '-Infinity'].includes(word)) return `"${word}"`;
    throw new Mistake(field, `“${word}” is no number; numbers have blanks or commas between them, and NaN and -Infinity are taken too`, 'numbers');
  });
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (numbers.length !== count) {
    throw new Mistake(field, `[${shape.join(', ')}] has ${count} ${count === 1 ? 'element' : 'elements'}; got ${numbers.length} ${numbers.length === 1 ? 'number' : 'numbers'}.`, 'numbers');
  }
  return `[${numbers.join(',')}]`;
}
