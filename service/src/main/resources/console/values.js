/** Generates and parses input elements, as a member of a JSON object, so that numbers are sent exactly as typed. */

/** Block formats: the elements and bytes of a block, and the offsets of its floating-point scales. */
export const BLOCKS = {
  q4_0: {elements: 32, bytes: 18, scales: [0]},
  q4_1: {elements: 32, bytes: 20, scales: [0, 2]},
  q5_0: {elements: 32, bytes: 22, scales: [0]},
  q8_0: {elements: 32, bytes: 34, scales: [0]},
  q4_k: {elements: 256, bytes: 144, scales: [0, 2]},
  q5_k: {elements: 256, bytes: 176, scales: [0, 2]},
  q6_k: {elements: 256, bytes: 210, scales: [208]},
  iq4_nl: {elements: 32, bytes: 18, scales: [0]},
  iq4_xs: {elements: 256, bytes: 136, scales: [0]},
  mxfp4: {elements: 32, bytes: 17, scales: [0]},
  nf4: {elements: 64, bytes: 36, scales: [0]},
};

/** The bytes of the scale of all generated blocks, 2⁻⁶. */
export const scaleOf = (dtype) => ({nf4: [0x00, 0x00, 0x80, 0x3c], mxfp4: [0x79]})[dtype] ?? [0x00, 0x24];

/** Returns whether a dtype is a block format, whose elements cannot be typed. */
export const isBlock = (dtype) => dtype in BLOCKS;

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

/** Returns the number of elements of a shape; throws if the page cannot generate them. */
export function elements(dtype, shape, field) {
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (count > MOST) {
    throw new Mistake(field, `[${shape.join(', ')}] has ${count} elements; this page generates at most ${MOST}. Upload the tensor to /tensors and choose it here.`, 'shape');
  }
  const block = BLOCKS[dtype]?.elements;
  if (block && !(shape.at(-1) % block === 0)) {
    throw new Mistake(field, `The last extent of ${dtype} must be a multiple of ${block}; got [${shape.join(', ')}].`, 'shape');
  }
  return count;
}

const base64 = (bytes) => `"base64":"${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}"`;

/** Generates the blocks of a tensor from bytes; their scales are finite. */
function blocks(dtype, count, draw) {
  const block = BLOCKS[dtype];
  const bytes = Uint8Array.from({length: (count / block.elements) * block.bytes}, draw);
  for (let start = 0; start < bytes.length; start += block.bytes) {
    for (const scale of block.scales) bytes.set(scaleOf(dtype), start + scale);
  }
  return base64(bytes);
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
  const count = elements(dtype, shape, field);
  return isBlock(dtype) ? blocks(dtype, count, () => 0) : `"data":[${Array(count).fill(dtype === 'bool' ? 'false' : '0').join(',')}]`;
}

/** Throws if random numbers cannot be generated from a seed within bounds. */
export function checkRange({seed, low, high}, field) {
  if (![seed, low, high].every(Number.isFinite) || low > high) {
    throw new Mistake(field, 'Random numbers need a seed, and bounds with from ≤ to.', 'range');
  }
}

/** Generates uniformly distributed numbers from `low` to `high`, inclusive for integers. */
export function random(dtype, shape, {seed, low, high}, field) {
  const count = elements(dtype, shape, field);
  const next = generator(seed);
  if (isBlock(dtype)) return blocks(dtype, count, () => Math.floor(next() * 256));
  const draw =
    dtype === 'bool'
      ? () => next() < 0.5
      : isInteger(dtype)
        ? () => Math.floor(low + next() * (high - low + 1))
        : () => Number((low + next() * (high - low)).toFixed(4));
  return `"data":[${Array.from({length: count}, draw).join(',')}]`;
}

/** Parses numbers separated by spaces, commas, semicolons or brackets, into JSON; their count must match the shape. */
export function numbers(text, shape, field) {
  const words = text.split(/[\s,;[\]]+/).filter(Boolean);
  const found = words.map((word) => {
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(word) || word === 'true' || word === 'false') return word;
    if (['NaN', 'Infinity', '-Infinity'].includes(word)) return `"${word}"`;
    throw new Mistake(field, `“${word}” is not a number. Separate numbers by spaces or commas; NaN, Infinity and -Infinity are allowed.`, 'numbers');
  });
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (found.length !== count) {
    throw new Mistake(field, `[${shape.join(', ')}] has ${count} ${count === 1 ? 'element' : 'elements'}; got ${found.length} ${found.length === 1 ? 'number' : 'numbers'}.`, 'numbers');
  }
  return found;
}

export const typed = (text, shape, field) => `"data":[${numbers(text, shape, field).join(',')}]`;
