package dev.athanor.ops;

import java.lang.foreign.MemorySegment;
import java.util.random.RandomGenerator;

/** Random tensors for the test cases of ops. */
public final class Draw {

  private static final int SPECIALS_EVERY = 7;

  /**
   * The number of elements after which a tensor repeats, because drawing takes longer than most
   * ops. It is prime, so rows of any length differ.
   */
  private static final long PERIOD = 1_048_573;

  /** The number of blocks after which a tensor repeats; also prime. */
  private static final long PERIOD_OF_BLOCKS = 65_521;

  private final RandomGenerator random;

  public Draw(RandomGenerator random) {
    this.random = random;
  }

  /**
   * Returns normally distributed numbers for floating-point types, finite blocks for block formats,
   * random bits for quantized numbers (i8, u32), and zeros and ones for other integers.
   */
  public HostTensor usual(TensorType type) {
    if (type.dtype().isBlock()) {
      return blocks(type);
    }
    return switch (type.dtype()) {
      case I8, U32 -> bytes(type);
      case E4M3, E5M2 -> uniform(-1, 1, type);
      default -> type.dtype().isFloat() ? normal(0, 1, type) : integers(0, 1, type);
    };
  }

  /** Returns blocks of random bits with scales of about 0.01. */
  public HostTensor blocks(TensorType type) {
    var tensor = HostTensor.zeros(type);
    int bytes = type.dtype().bytes();
    long blocks = Math.min(type.bytes() / bytes, PERIOD_OF_BLOCKS);
    random(tensor, blocks * bytes);
    for (long block = 0; block < blocks; block++) {
      var data = tensor.data().asSlice(block * bytes, bytes);
      for (int at : Blocks.scales(type.dtype())) {
        switch (type.dtype()) {
          case NF4 -> DType.F32.write(data.asSlice(at), 0, random.nextDouble(0.01, 0.02));
          // an exponent: 2^-8 to 2^-5
          case MXFP4 -> DType.U8.writeLong(data.asSlice(at), 0, random.nextLong(119, 123));
          default -> DType.F16.write(data.asSlice(at), 0, random.nextDouble(0.01, 0.02));
        }
      }
    }
    repeat(tensor, blocks * bytes);
    return tensor;
  }

  /** Returns standard normal numbers. */
  public HostTensor normal(DType dtype, long... extents) {
    return normal(0, 1, new TensorType(dtype, Shape.of(extents)));
  }

  /** Returns normally distributed numbers. */
  public HostTensor normal(double mean, double deviation, TensorType type) {
    return fill(
        type, (data, i) -> type.dtype().write(data, i, random.nextGaussian(mean, deviation)));
  }

  /**
   * Returns uniformly distributed numbers from {@code least}, inclusive, to {@code bound},
   * exclusive.
   */
  public HostTensor uniform(double least, double bound, TensorType type) {
    return fill(type, (data, i) -> type.dtype().write(data, i, random.nextDouble(least, bound)));
  }

  /** Returns uniformly distributed integers from {@code least} to {@code greatest}, inclusive. */
  public HostTensor integers(long least, long greatest, TensorType type) {
    return fill(
        type, (data, i) -> type.dtype().writeLong(data, i, random.nextLong(least, greatest + 1)));
  }

  /**
   * Returns normally distributed numbers mixed with NaN, infinities, both zeros, the least and the
   * greatest numbers of the dtype and subnormal numbers.
   */
  public HostTensor special(DType dtype, long... extents) {
    var tensor = normal(dtype, extents);
    double least = dtype.spacing(0);
    var specials =
        new double[] {
          Double.NaN,
          Double.POSITIVE_INFINITY,
          Double.NEGATIVE_INFINITY,
          0.0,
          -0.0,
          least,
          -3 * least,
          -dtype.greatest()
        };
    for (long at = 0; at < tensor.type().shape().elements(); at += SPECIALS_EVERY) {
      double value = specials[(int) (at / SPECIALS_EVERY % specials.length)];
      if (dtype != DType.E4M3 || !Double.isInfinite(value)) {
        dtype.write(tensor.data(), at, value);
      }
    }
    return tensor;
  }

  private interface Element {
    void draw(MemorySegment data, long index);
  }

  private static HostTensor fill(TensorType type, Element element) {
    var tensor = HostTensor.zeros(type);
    long elements = type.shape().elements();
    long drawn = Math.min(elements, PERIOD);
    for (long i = 0; i < drawn; i++) {
      element.draw(tensor.data(), i);
    }
    repeat(tensor, drawn * type.dtype().bytes());
    return tensor;
  }

  /** Fills a tensor with repetitions of its first bytes. */
  private static void repeat(HostTensor tensor, long period) {
    long bytes = tensor.type().bytes();
    for (long at = period; at < bytes; at += period) {
      MemorySegment.copy(tensor.data(), 0, tensor.data(), at, Math.min(period, bytes - at));
    }
  }

  /** Returns random bytes, for formats in which every bit pattern is a number. */
  public HostTensor bytes(TensorType type) {
    var tensor = HostTensor.zeros(type);
    random(tensor, type.bytes());
    return tensor;
  }

  private void random(HostTensor tensor, long count) {
    var bytes = new byte[Math.toIntExact(count)];
    random.nextBytes(bytes);
    MemorySegment.copy(MemorySegment.ofArray(bytes), 0, tensor.data(), 0, count);
  }
}
