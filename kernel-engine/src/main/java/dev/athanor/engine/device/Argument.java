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

  /** Whether a parameter takes the argument. */
  default boolean fits(Parameter parameter) {
    return this instanceof Bytes bytes
        ? parameter.bytes() == bytes.segment.byteSize()
        : parameter.count() == Variable.SCALAR
            && parameter.type().registerClass() == type().registerClass();
  }

  static Argument of(Buffer buffer) {
    return new Pointer(buffer, 0);
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
