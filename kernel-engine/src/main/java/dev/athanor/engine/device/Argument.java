package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import java.lang.foreign.MemorySegment;

/** The value of a kernel parameter. */
public sealed interface Argument {

  /**
   * The type of the parameter that takes it; integers of either sign and bits of one width are
   * alike.
   */
  Type type();

  /** The address of a byte of a buffer. */
  record Pointer(Buffer buffer, long offset) implements Argument {
    @Override
    public Type type() {
      return Type.U64;
    }
  }

  /** A number, by its bits. */
  record Scalar(Type type, long bits) implements Argument {}

  /** The bytes of an array, which are read when the kernel is launched. */
  record Bytes(MemorySegment segment) implements Argument {
    @Override
    public Type type() {
      return Type.B8;
    }
  }

  /**
   * A tensor in a buffer, for a parameter of {@link TensorMap#BYTES} bytes.
   *
   * @param offset where in the buffer its first element is, a multiple of 16
   */
  record Tensor(TensorMap map, Buffer buffer, long offset) implements Argument {
    public Tensor {
      if (offset < 0 || offset % 16 != 0) {
        throw new IllegalArgumentException(
            "a tensor begins at a multiple of 16 bytes, not at " + offset);
      }
      if (map.bytes() > buffer.bytes() - offset) {
        throw new IllegalArgumentException(
            "a tensor of %d bytes at offset %d reaches beyond its buffer of %d"
                .formatted(map.bytes(), offset, buffer.bytes()));
      }
    }

    @Override
    public Type type() {
      return Type.B8;
    }
  }

  /** Whether a parameter takes the argument. */
  default boolean fits(Parameter parameter) {
    long bytes =
        this instanceof Bytes array
            ? array.segment.byteSize()
            : this instanceof Tensor ? TensorMap.BYTES : -1;
    return bytes >= 0
        ? parameter.bytes() == bytes
        : parameter.count() == Variable.SCALAR
            && parameter.type().registerClass() == type().registerClass();
  }

  static Argument of(Buffer buffer) {
    return new Pointer(buffer, 0);
  }

  static Argument of(TensorMap map, Buffer buffer) {
    return new Tensor(map, buffer, 0);
  }

  static Argument of(int value) {
    return new Scalar(Type.S32, value);
  }

  static Argument of(long value) {
    return new Scalar(Type.S64, value);
  }

  static Argument of(float value) {
    return new Scalar(Type.F32, Float.floatToRawIntBits(value));
  }

  static Argument of(double value) {
    return new Scalar(Type.F64, Double.doubleToRawLongBits(value));
  }
}
