package dev.athanor.engine.emulator.async;

import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.TensorCore;

/**
 * The instruction descriptor of {@code tcgen05.mma} (PTX ISA 9.7.16.4.2).
 *
 * @param byDepthA whether elements of A are contiguous along k
 */
record ProductDescriptor(
    MatrixShape shape,
    Type d,
    Type a,
    Type b,
    boolean saturated,
    boolean negatesA,
    boolean negatesB,
    boolean byDepthA,
    boolean byDepthB) {

  private static final int RESERVED = 1 << 6 | 1 << 23 | 1 << 29 | 3 << 30;

  /** Bytes of K that a product reads. */
  private static final int DEPTH_BYTES = 32;

  /**
   * Decodes a descriptor.
   *
   * @throws IllegalArgumentException if the kind of product has no such descriptor
   */
  static ProductDescriptor of(int bits, Modifiers modifiers) {
    boolean integers = modifiers.has("kind::i8");
    require((bits & 7) == 0, bits, "describes a sparse product; only dense ones are supported");
    require((bits & RESERVED) == 0, bits, "has reserved bits");
    require(integers || (bits >> 3 & 1) == 0, bits, "saturates, which only kind::i8 can");
    var a = factor(bits, bits >> 7 & 7, modifiers);
    var b = factor(bits, bits >> 10 & 7, modifiers);
    int m = (bits >> 24 & 31) * 16;
    int n = (bits >> 17 & 63) * 8;
    require(m == 64 || m == 128, bits, "has m = %d; it is 64 or 128".formatted(m));
    int step = m == 128 || (integers && n > 32) ? 16 : 8;
    require(
        n > 0 && n <= 256 && n % step == 0,
        bits,
        "has n = %d; it is a multiple of %d up to 256".formatted(n, step));
    boolean movable = a.bits() < 32;
    require(movable || (bits >> 15 & 3) == 0, bits, "transposes tf32, which is contiguous along k");
    return new ProductDescriptor(
        new MatrixShape(m, n, DEPTH_BYTES / a.bytes()),
        sum(bits, modifiers),
        a,
        b,
        (bits >> 3 & 1) != 0,
        (bits >> 13 & 1) != 0,
        (bits >> 14 & 1) != 0,
        (bits >> 15 & 1) == 0,
        (bits >> 16 & 1) == 0);
  }

  private static Type factor(int bits, int code, Modifiers modifiers) {
    Type type =
        modifiers.has("kind::tf32")
            ? code == 2 ? Type.TF32 : null
            : modifiers.has("kind::f16")
                ? code == 0 ? Type.F16 : code == 1 ? Type.BF16 : null
                : modifiers.has("kind::i8")
                    ? code == 0 ? Type.U8 : code == 1 ? Type.S8 : null
                    : code == 0 ? Type.E4M3 : code == 1 ? Type.E5M2 : null;
    if (type == null) {
      throw new IllegalArgumentException(
          "the instruction descriptor 0x%08x has the factor type %d, which %s"
              .formatted(
                  bits,
                  code,
                  modifiers.has("kind::f8f6f4") && code >= 3 && code <= 5
                      ? "has 4 or 6 bits; the emulator supports e4m3 and e5m2 here"
                      : "this kind of product does not have"));
    }
    return type;
  }

  private static Type sum(int bits, Modifiers modifiers) {
    int code = bits >> 4 & 3;
    boolean halves = modifiers.has("kind::f16") || modifiers.has("kind::f8f6f4");
    require(
        modifiers.has("kind::i8") ? code == 2 : code == 1 || (halves && code == 0),
        bits,
        "has the result type %d, which this kind of product does not have".formatted(code));
    return code == 0 ? Type.F16 : code == 1 ? Type.F32 : Type.S32;
  }

  private static void require(boolean holds, int bits, String problem) {
    if (!holds) {
      throw new IllegalArgumentException(
          "the instruction descriptor 0x%08x %s".formatted(bits, problem));
    }
  }

  /** Returns the arithmetic. */
  WgmmaProduct product() {
    return d == Type.S32
        ? new WgmmaProduct.OfIntegers(shape, a == Type.S8, b == Type.S8, saturated)
        : new WgmmaProduct.OfFloats(
            shape, d, a, b, negatesA ? -1 : 1, negatesB ? -1 : 1, TensorCore.tcgen05(d, shape.k()));
  }
}
