/** Writes a run as a command of curl, and as a program of the Python and the Java client. */

import {BLOCKS, isBlock, isInteger, scaleOf} from './values.js';

const NUMPY = {f64: 'np.float64', f32: 'np.float32', f16: 'np.float16', bf16: 'ml_dtypes.bfloat16', e4m3: 'ml_dtypes.float8_e4m3fn', e5m2: 'ml_dtypes.float8_e5m2', i64: 'np.int64', i32: 'np.int32', i16: 'np.int16', i8: 'np.int8', u8: 'np.uint8', u32: 'np.uint32', bool: 'np.bool_'};

const quote = (text) => JSON.stringify(text);
const count = (shape) => shape.reduce((product, extent) => product * extent, 1);

/** Returns a literal of a number, with a decimal point or an exponent if it is real. */
const number = (value, isReal) => (isReal && Number.isInteger(value) && !/e/.test(value) ? `${value}.0` : String(value));

/** Returns the bounds of random integers; the last is inclusive. */
const bounds = ({low, high}) => [Math.ceil(low), Math.floor(high)];

/**
 * Splits the bytes of a block into its scales and the bytes between them: pairs of length and, for scales, their
 * bytes.
 */
function parts(dtype) {
  const {bytes, scales} = BLOCKS[dtype];
  const scale = scaleOf(dtype);
  const found = [];
  let end = 0;
  for (const start of scales) {
    if (start > end) found.push([start - end]);
    found.push([scale.length, scale]);
    end = start + scale.length;
  }
  if (bytes > end) found.push([bytes - end]);
  return found;
}

const blockCount = ({dtype, shape}) => count(shape) / BLOCKS[dtype].elements;

// -- curl

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param run {url, op, body, usesKey, inputs, attributes, outputs}: the service, the op, the JSON to send, and what it is of */
export function curl({url, op, body, usesKey}) {
  return [
    `curl ${shell(`${url}/ops/${encodeURIComponent(op)}`)} \\`,
    ...(usesKey ? ['  -H "Authorization: Bearer $ATHANOR_KEY" \\'] : []),
    "  -H 'Content-Type: application/json' \\",
    "  --data-binary @- <<'JSON'",
    body,
    'JSON',
    '',
  ].join('\n');
}

// -- Python

const tuple = (values) => `(${values.join(', ')}${values.length === 1 ? ',' : ''})`;

const PYTHON_WORDS = {true: 'True', false: 'False', '"NaN"': 'np.nan', '"Infinity"': 'np.inf', '"-Infinity"': '-np.inf'};

function pythonBlocks(value) {
  const blocks = blockCount(value);
  const bytes = parts(value.dtype).map(([length, scale]) => {
    if (scale) return `np.tile(np.uint8([${scale.join(', ')}]), (${blocks}, 1))`;
    return value.random ? `rng.integers(0, 256, (${blocks}, ${length}), np.uint8)` : `np.zeros((${blocks}, ${length}), np.uint8)`;
  });
  return `client.upload(\n    np.hstack([${bytes.join(', ')}]),\n    dtype=${quote(value.dtype)}, shape=${tuple(value.shape)},\n)`;
}

function pythonArray(value) {
  const {handle, dtype, random, numbers} = value;
  if (handle) return `client.tensor(${quote(handle)})`;
  if (isBlock(dtype)) return pythonBlocks(value);
  const shape = tuple(value.shape);
  const type = NUMPY[dtype];
  if (numbers) return `np.array([${numbers.map((word) => PYTHON_WORDS[word] ?? word).join(', ')}], ${type}).reshape(${shape})`;
  if (!random) return `np.zeros(${shape}, ${type})`;
  if (dtype === 'bool') return `rng.integers(0, 2, ${shape}).astype(${type})`;
  if (isInteger(dtype)) return `rng.integers(${bounds(random).join(', ')}, ${shape}, ${type}, endpoint=True)`;
  return `rng.uniform(${random.low}, ${random.high}, ${shape}).astype(${type})`;
}

const isText = (type) => type === 'choice' || type === 'text';

function pythonAttribute([{type}, value]) {
  if (type === 'boolean') return PYTHON_WORDS[value];
  if (isText(type) || Array.isArray(value)) return JSON.stringify(value);
  return number(value, type === 'number');
}

const seedOf = (inputs) => inputs.map(([, {random}]) => random?.seed).find((seed) => seed !== undefined);

const indent = (text, by) => text.replaceAll('\n', `\n${' '.repeat(by)}`);

export function python({url, op, usesKey, inputs, attributes, outputs}) {
  const seed = seedOf(inputs);
  const dtypes = [...inputs.map(([, {dtype}]) => dtype), ...attributes.map(([, value]) => value)];
  const isKept = outputs.some(({kept}) => kept);
  const names = outputs.filter(({kept, optional}) => kept || !optional).map(({name}) => quote(name));
  const body = [
    quote(op),
    `{\n${inputs.map(([name, value]) => `    ${quote(name)}: ${indent(pythonArray(value), 4)},\n`).join('')}}`,
    ...(attributes.length ? [`{${attributes.map((each) => `${quote(each[0].name)}: ${pythonAttribute(each)}`).join(', ')}}`] : []),
    ...(isKept ? [`outputs=[${names.join(', ')}]`] : []),
  ];
  return [
    ...(usesKey ? ['import os', ''] : []),
    'import athanor',
    ...(dtypes.some((dtype) => NUMPY[dtype]?.startsWith('ml_')) ? ['import ml_dtypes'] : []),
    'import numpy as np',
    '',
    ...(seed === undefined ? [] : [`rng = np.random.default_rng(${seed})`]),
    `with athanor.connect(${quote(url)}${usesKey ? ', api_key=os.environ["ATHANOR_KEY"]' : ''}) as client:`,
    `    outputs = client.${isKept ? 'run' : 'compute'}(`,
    ...body.map((argument) => `        ${indent(argument, 8)},`),
    '    )',
    '    for name, output in outputs.items():',
    isKept ? '        print(name, output.handle, output.dtype, output.shape)  # freed at the end of the block' : '        print(name, output)',
    '',
  ].join('\n');
}

// -- Java

/** Conversions of arrays that Java has no literals or random numbers for. */
const HELPERS = {
  floats: `  private static float[] floats(double... values) {
    var floats = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      floats[i] = (float) values[i];
    }
    return floats;
  }
`,
  shorts: `  private static short[] shorts(int... values) {
    var shorts = new short[values.length];
    for (int i = 0; i < values.length; i++) {
      shorts[i] = (short) values[i];
    }
    return shorts;
  }
`,
  bytes: `  private static byte[] bytes(int... values) {
    var bytes = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return bytes;
  }
`,
  blocks: `  /** Sets the scales at these offsets of all blocks. */
  private static byte[] blocks(byte[] blocks, int size, byte[] scale, int... offsets) {
    for (int block = 0; block < blocks.length; block += size) {
      for (int offset : offsets) {
        System.arraycopy(scale, 0, blocks, block + offset, scale.length);
      }
    }
    return blocks;
  }
`,
  cast: `  /** Converts to a dtype that Java lacks, on the device. */
  private static Tensor cast(Athanor athanor, HostTensor values, String dtype) {
    var call = OpCall.of("cast").input("x", values).attribute("to", dtype).output("y");
    return athanor.run(call).get("y");
  }
`,
};

const JAVA_WORDS = {'"NaN"': 'Double.NaN', '"Infinity"': 'Double.POSITIVE_INFINITY', '"-Infinity"': 'Double.NEGATIVE_INFINITY'};

/** Returns the digits of an integer that was typed as 1e3 or 2.0. */
const whole = (word) => (/[.eE]/.test(word) ? String(Number(word)) : word);

const isInt = (value) => value >= -(2 ** 31) && value < 2 ** 31;
const javaInteger = (value) => `${value}${isInt(Number(value)) ? '' : 'L'}`;
const javaShape = (shape) => shape.map(javaInteger).join(', ');

/** Returns an array of the Java type that holds the bits of a dtype; f16 and fp8 are f32 before their conversion. */
function javaValues({dtype, shape, numbers, random}) {
  const n = count(shape);
  if (isInteger(dtype) || dtype === 'bool') {
    const type = {i64: 'long', i32: 'int', u32: 'int', i16: 'short'}[dtype] ?? 'byte';
    const isWide = type === 'long';
    if (numbers) {
      const words = numbers.map((each) => ({true: '1', false: '0'})[each] ?? whole(each)).map((word) => (isWide ? `${word}L` : isInt(Number(word)) ? word : `(int) ${word}L`));
      return type === 'int' || isWide ? `new ${type}[] {${words.join(', ')}}` : `${type}s(${words.join(', ')})`;
    }
    if (!random) return `new ${type}[${n}]`;
    const [low, high] = dtype === 'bool' ? [0, 1] : bounds(random);
    const isLong = isWide || !isInt(low) || !isInt(high + 1);
    const range = `${n}, ${javaInteger(low)}, ${javaInteger(high + 1)}`;
    const drawn = isLong ? `random.longs(${range})${isWide ? '' : '.mapToInt(value -> (int) value)'}` : `random.ints(${range})`;
    return type === 'int' || isWide ? `${drawn}.toArray()` : `${type}s(${drawn}.toArray())`;
  }
  const isDouble = dtype === 'f64';
  if (!numbers && !random) return `new ${isDouble ? 'double' : 'float'}[${n}]`;
  if (numbers) {
    const words = numbers.map((word) => JAVA_WORDS[word] ?? number(Number(word), true));
    return isDouble ? `new double[] {${words.join(', ')}}` : `floats(${words.join(', ')})`;
  }
  const high = random.low < random.high ? random.high : `Math.nextUp(${number(random.high, true)})`;
  const drawn = `random.doubles(${n}, ${random.low}, ${high}).toArray()`;
  return isDouble ? drawn : `floats(${drawn})`;
}

function javaBlocks(value) {
  const {bytes, scales} = BLOCKS[value.dtype];
  const n = blockCount(value) * bytes;
  const data = value.random ? `bytes(random.ints(${n}, 0, 256).toArray())` : `new byte[${n}]`;
  return `blocks(${data}, ${bytes}, bytes(${scaleOf(value.dtype).join(', ')}), ${scales.join(', ')})`;
}

function javaTensor(value) {
  const {handle, dtype, shape} = value;
  if (handle) return `athanor.attach(${quote(handle)})`;
  const isNarrow = ['f16', 'bf16', 'e4m3', 'e5m2'].includes(dtype);
  const type = ['f64', 'f32', 'i64', 'i32'].includes(dtype) || isNarrow ? '' : `DType.${dtype.toUpperCase()}, `;
  const values = isBlock(dtype) ? javaBlocks(value) : javaValues(value);
  const tensor = shape.length ? `HostTensor.of(${type}${values}, ${javaShape(shape)})` : `HostTensor.of(${type}${values}).reshape()`;
  return isNarrow ? `cast(athanor, ${tensor}, ${quote(dtype)})` : tensor;
}

const javaAttribute = ([{type}, value]) => (isText(type) || Array.isArray(value) ? quote(String(value)) : type === 'integer' ? javaInteger(value) : number(value, type === 'number'));

export function java({url, op, usesKey, inputs, attributes, outputs}) {
  const isKept = outputs.some(({kept}) => kept);
  const names = isKept ? outputs.filter(({kept, optional}) => kept || !optional).map(({name}) => name) : [];
  const call = [
    `OpCall.of(${quote(op)})`,
    ...inputs.map(([name, value]) => `    .input(${quote(name)}, ${javaTensor(value)})`),
    ...attributes.map((each) => `    .attribute(${quote(each[0].name)}, ${javaAttribute(each)})`),
    ...names.map((name) => `    .output(${quote(name)})`),
  ].join('\n');
  const seed = seedOf(inputs);
  const connect = usesKey ? `Athanor.builder(${quote(url)})\n            .bearerToken(() -> System.getenv("ATHANOR_KEY"))\n            .build()` : `Athanor.connect(${quote(url)})`;
  const used = Object.keys(HELPERS).filter((name) => call.includes(`${name}(`));
  const imports = [
    'dev.athanor.client.Athanor',
    ...(call.includes('DType.') ? ['dev.athanor.client.DType'] : []),
    ...(call.includes('HostTensor') ? ['dev.athanor.client.HostTensor'] : []),
    'dev.athanor.client.OpCall',
    ...(used.includes('cast') ? ['dev.athanor.client.Tensor'] : []),
    ...(seed === undefined ? [] : ['java.util.Random']),
  ];
  return [
    ...imports.map((name) => `import ${name};`),
    '',
    'public class Example {',
    '',
    '  public static void main(String[] args) {',
    ...(seed === undefined ? [] : [`    var random = new Random(${seed});`]),
    `    try (var athanor = ${connect}) {`,
    '      var call =',
    `          ${indent(call, 10)};`,
    `      var outputs = athanor.${isKept ? '' : 'inline().'}run(call);`,
    '      outputs.forEach((name, output) -> System.out.println(name + " " + output));',
    '    }',
    '  }',
    ...used.map((name) => `\n${HELPERS[name]}`.trimEnd()),
    '}',
    '',
  ].join('\n');
}

/** The languages that a run can be copied as. */
export const LANGUAGES = {curl, Python: python, Java: java};
