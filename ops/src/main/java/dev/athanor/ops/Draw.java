package dev.athanor.ops;

import java.lang.foreign.MemorySegment;
import java.util.random.RandomGenerator;

/** Tensors of random numbers, for the cases of ops. */
public final class Draw {

  private static final int SPECIALS_EVERY = 7;

  private final RandomGenerator random;

  public Draw(RandomGenerator random) {
    this.random = random;
  }

  /**
   * Normal numbers of floating-point types, blocks that are finite, any bytes and words where these
   * are quantised numbers (i8, u32), and zeros and ones of the other integers.
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

  /** Blocks of random bits whose scales are about 1/64. */
  public HostTensor blocks(TensorType type) {
    var tensor = bytes(type);
    int bytes = type.dtype().bytes();
    for (long block = 0; block < type.bytes() / bytes; block++) {
      var data = tensor.data().asSlice(block * bytes, bytes);
      for (int at : Blocks.scales(type.dtype())) {
        if (type.dtype() == DType.NF4) {
          DType.F32.write(data.asSlice(at), 0, random.nextDouble(0.01, 0.02));
        } else {
          DType.F16.write(data.asSlice(at), 0, random.nextDouble(0.01, 0.02));
        }
      }
    }
    return tensor;
  }

  /** Standard normal numbers. */
  public HostTensor normal(DType dtype, long... extents) {
    return normal(0, 1, new TensorType(dtype, Shape.of(extents)));
  }

  /** Normal numbers. */
  public HostTensor normal(double mean, double deviation, TensorType type) {
    var tensor = HostTensor.zeros(type);
    for (long i = 0; i < type.shape().elements(); i++) {
      type.dtype().write(tensor.data(), i, random.nextGaussian(mean, deviation));
    }
    return tensor;
  }

  /** Numbers from {@code least} to below {@code bound}. */
  public HostTensor uniform(double least, double bound, TensorType type) {
    var tensor = HostTensor.zeros(type);
    for (long i = 0; i < type.shape().elements(); i++) {
      type.dtype().write(tensor.data(), i, random.nextDouble(least, bound));
    }
    return tensor;
  }

  /** Integers from {@code least} to {@code greatest}. */
  public HostTensor integers(long least, long greatest, TensorType type) {
    var tensor = HostTensor.zeros(type);
    for (long i = 0; i < type.shape().elements(); i++) {
      type.dtype().writeLong(tensor.data(), i, random.nextLong(least, greatest + 1));
    }
    return tensor;
  }

  /**
   * Normal numbers among which stand NaN, infinities, both zeros, the least and the greatest
   * numbers of the dtype and subnormal ones.
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

  /** Random bytes, for formats whose every bit pattern is a number. */
  public HostTensor bytes(TensorType type) {
    var bytes = new byte[Math.toIntExact(type.bytes())];
    random.nextBytes(bytes);
    return new HostTensor(type, MemorySegment.ofArray(bytes));
  }
}
