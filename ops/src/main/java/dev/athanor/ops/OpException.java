package dev.athanor.ops;

/**
 * A request that an op refuses. Each case is a class; its message is a sentence that says what was
 * given and what would be right.
 */
public abstract sealed class OpException extends RuntimeException {

  private final String field;

  private OpException(String field, String message) {
    super(message);
    this.field = field;
  }

  /** The input, attribute or output that is meant. */
  public String field() {
    return field;
  }

  /** Shapes that do not go together, or that an op does not take. */
  public static final class ShapeMismatch extends OpException {
    public ShapeMismatch(String field, String message) {
      super(field, message);
    }
  }

  /** A dtype that an op does not take. */
  public static final class UnsupportedDType extends OpException {
    public UnsupportedDType(String field, String message) {
      super(field, message);
    }
  }

  /** An attribute of the wrong kind or out of its range. */
  public static final class InvalidAttribute extends OpException {
    public InvalidAttribute(String field, String message) {
      super(field, message);
    }
  }

  /** An input that must be there is not. */
  public static final class MissingInput extends OpException {
    public MissingInput(String field, String message) {
      super(field, message);
    }
  }

  /** A name that the op does not know; the field is a path such as {@code inputs.z}. */
  public static final class UnknownField extends OpException {
    public UnknownField(String field, String message) {
      super(field, message);
    }
  }

  /** A problem too large for any device. */
  public static final class TooLarge extends OpException {
    public TooLarge(String field, String message) {
      super(field, message);
    }
  }

  /** Something that this device cannot do; the message says which could. */
  public static final class UnsupportedOnDevice extends OpException {
    public UnsupportedOnDevice(String field, String message) {
      super(field, message);
    }
  }
}
