package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import java.lang.foreign.MemorySegment;

/** An argument of a kernel launch. */
public sealed interface Argument {

  /**
   * Returns the type of a matching parameter. Signed, unsigned and bit types of one width are
   * interchangeable.
   */
  Type type();

  /** The address of a byte of a buffer. */
  record Pointer(Buffer buffer, long offset) implements Argument {
    @Override
    public Type type() {
      return Type.U64;
    }
  }

  /** A number, as raw bits. */
  record Scalar(Type type, long bits) implements Argument {}

  /** The bytes of an array parameter. They are read at the launch. */
  record Bytes(MemorySegment segment) implements Argument {
    @Override
    public Type type() {
      return Type.B8;
    }
  }

  /**
   * A tensor in a buffer, for a parameter of {@link TensorMap#BYTES} bytes.
   *
   * @param offset byte offset of the first element in the buffer, a multiple of 16
   */
  record Tensor(TensorMap map, Buffer buffer, long offset) implements Argument {
    public Tensor {
      if (offset < 0 || offset % 16 != 0) {
        throw new IllegalArgumentException(
            "a tensor must start at a multiple of 16 bytes, got offset " + offset);
      }
      if (map.bytes() > buffer.bytes() - offset) {
        throw new IllegalArgumentException(
            "a tensor of %d bytes at offset %d exceeds its buffer of %d bytes"
                .formatted(map.bytes(), offset, buffer.bytes()));
      }
    }

    @Override
    public Type type() {
      return Type.B8;
    }
  }

  /** Returns whether the argument matches a parameter. */
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
