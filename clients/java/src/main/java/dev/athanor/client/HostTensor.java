package dev.athanor.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * The values of a tensor in host memory: little-endian, row-major bytes of at most 2 GiB.
 *
 * <p>Arrays are copied once and may be changed afterwards. Buffers are not copied and must not be
 * changed while a call uses them. On Java 22 and later, {@code MemorySegment.asByteBuffer()}
 * returns a buffer of a segment, and {@code MemorySegment.ofBuffer(tensor.buffer())} a segment of a
 * tensor, both without a copy.
 */
public final class HostTensor implements Operand {

  private final DType dtype;
  private final List<Long> shape;
  private final ByteBuffer data;

  private HostTensor(DType dtype, List<Long> shape, ByteBuffer data) {
    long bytes = Shapes.bytes(dtype, shape);
    if (data.remaining() != bytes) {
      throw new IllegalArgumentException(
          "A tensor of %s %s has %d bytes, not %d."
              .formatted(dtype.text(), shape, bytes, data.remaining()));
    }
    this.dtype = dtype;
    this.shape = shape;
    this.data = data.slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Copies f32 values.
   *
   * @param shape the extents, outermost first; default: a vector of all values
   */
  public static HostTensor of(float[] values, long... shape) {
    var data = allocate(values.length, Float.BYTES);
    data.asFloatBuffer().put(values);
    return new HostTensor(DType.F32, shape(values.length, shape), data);
  }

  /** Copies f64 values; {@code shape} as in {@link #of(float[], long...)}. */
  public static HostTensor of(double[] values, long... shape) {
    var data = allocate(values.length, Double.BYTES);
    data.asDoubleBuffer().put(values);
    return new HostTensor(DType.F64, shape(values.length, shape), data);
  }

  /** Copies i32 values; {@code shape} as in {@link #of(float[], long...)}. */
  public static HostTensor of(int[] values, long... shape) {
    return of(DType.I32, values, shape);
  }

  /** Copies i64 values; {@code shape} as in {@link #of(float[], long...)}. */
  public static HostTensor of(long[] values, long... shape) {
    var data = allocate(values.length, Long.BYTES);
    data.asLongBuffer().put(values);
    return new HostTensor(DType.I64, shape(values.length, shape), data);
  }

  /** Copies four-byte values: {@link DType#I32} or {@link DType#U32}. */
  public static HostTensor of(DType dtype, int[] values, long... shape) {
    check(dtype, Integer.BYTES);
    var data = allocate(values.length, Integer.BYTES);
    data.asIntBuffer().put(values);
    return new HostTensor(dtype, shape(values.length, shape), data);
  }

  /** Copies two-byte values: the bits of f16 or bf16, or i16. */
  public static HostTensor of(DType dtype, short[] values, long... shape) {
    check(dtype, Short.BYTES);
    var data = allocate(values.length, Short.BYTES);
    data.asShortBuffer().put(values);
    return new HostTensor(dtype, shape(values.length, shape), data);
  }

  /** Copies the bytes of values of any dtype, including blocks. */
  public static HostTensor of(DType dtype, byte[] bytes, long... shape) {
    return of(dtype, ByteBuffer.wrap(bytes.clone()), shape);
  }

  /**
   * Wraps the remaining bytes of a heap or direct buffer without a copy. Its byte order is ignored.
   *
   * @param shape the extents, outermost first; default: a vector of all elements
   */
  public static HostTensor of(DType dtype, ByteBuffer littleEndian, long... shape) {
    long elements = (long) littleEndian.remaining() / dtype.blockBytes() * dtype.blockElements();
    return new HostTensor(dtype, shape(elements, shape), littleEndian);
  }

  /** Returns an f32 scalar. */
  public static HostTensor scalar(float value) {
    return new HostTensor(DType.F32, List.of(), allocate(1, Float.BYTES).putFloat(0, value));
  }

  static HostTensor wrap(DType dtype, List<Long> shape, ByteBuffer data) {
    return new HostTensor(dtype, List.copyOf(shape), data);
  }

  private static ByteBuffer allocate(int elements, int bytes) {
    return ByteBuffer.allocate(Math.multiplyExact(elements, bytes)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static List<Long> shape(long elements, long... shape) {
    return shape.length == 0 ? Shapes.list(elements) : Shapes.list(shape);
  }

  private static void check(DType dtype, int bytes) {
    if (dtype.blockElements() != 1 || dtype.blockBytes() != bytes) {
      throw new IllegalArgumentException(
          "Elements of %s do not have %d bytes.".formatted(dtype.text(), bytes));
    }
  }

  /** Returns the element type. */
  public DType dtype() {
    return dtype;
  }

  /** Returns the extents, outermost first; empty for a scalar. */
  public List<Long> shape() {
    return shape;
  }

  /** Returns the size of the values in bytes. */
  public long byteSize() {
    return data.capacity();
  }

  /** Returns a read-only view of the little-endian bytes. */
  public ByteBuffer buffer() {
    return data.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Copies the values into an array; f16 and bf16 are widened.
   *
   * @throws IllegalStateException if the dtype is not f32, f16 or bf16
   */
  public float[] toFloats() {
    var values = new float[count()];
    switch (dtype) {
      case F32 -> data.asFloatBuffer().get(values);
      case F16 -> {
        for (int i = 0; i < values.length; i++) {
          values[i] = halfToFloat(data.getShort(2 * i));
        }
      }
      case BF16 -> {
        for (int i = 0; i < values.length; i++) {
          values[i] = Float.intBitsToFloat(data.getShort(2 * i) << 16);
        }
      }
      default -> throw wrongType("floats");
    }
    return values;
  }

  /**
   * Copies f64 values into an array.
   *
   * @throws IllegalStateException if the dtype is not f64
   */
  public double[] toDoubles() {
    require(dtype == DType.F64, "doubles");
    var values = new double[count()];
    data.asDoubleBuffer().get(values);
    return values;
  }

  /**
   * Copies i32 values, or the bits of u32, into an array.
   *
   * @throws IllegalStateException if the dtype is neither
   */
  public int[] toInts() {
    require(dtype == DType.I32 || dtype == DType.U32, "ints");
    var values = new int[count()];
    data.asIntBuffer().get(values);
    return values;
  }

  /**
   * Copies i64 values into an array.
   *
   * @throws IllegalStateException if the dtype is not i64
   */
  public long[] toLongs() {
    require(dtype == DType.I64, "longs");
    var values = new long[count()];
    data.asLongBuffer().get(values);
    return values;
  }

  /**
   * Copies i16 values, or the bits of f16 or bf16, into an array.
   *
   * @throws IllegalStateException if the elements do not have two bytes
   */
  public short[] toShorts() {
    require(dtype.blockBytes() == Short.BYTES, "shorts");
    var values = new short[count()];
    data.asShortBuffer().get(values);
    return values;
  }

  /** Copies the little-endian bytes of any dtype into an array. */
  public byte[] toBytes() {
    var bytes = new byte[data.capacity()];
    data.duplicate().get(bytes);
    return bytes;
  }

  @Override
  public HostTensor reshape(long... other) {
    return new HostTensor(dtype, Operand.reshaped(shape, other), data.duplicate());
  }

  private int count() {
    return Math.toIntExact(Shapes.elements(shape));
  }

  private void require(boolean condition, String target) {
    if (!condition) {
      throw wrongType(target);
    }
  }

  private IllegalStateException wrongType(String target) {
    return new IllegalStateException(
        "A tensor of %s has no %s; read its bytes.".formatted(dtype.text(), target));
  }

  private static float halfToFloat(short bits) {
    int exponent = bits >> 10 & 0x1f;
    int mantissa = bits & 0x3ff;
    float magnitude =
        switch (exponent) {
          case 0 -> mantissa * 0x1p-24f;
          case 0x1f -> mantissa == 0 ? Float.POSITIVE_INFINITY : Float.NaN;
          default -> Float.intBitsToFloat(((exponent + 112) << 23) | mantissa << 13);
        };
    return bits < 0 ? -magnitude : magnitude;
  }

  /** Returns dtype and shape without the values, such as {@code f32[2, 3]}. */
  @Override
  public String toString() {
    return dtype.text() + shape;
  }
}
