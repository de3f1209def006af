package dev.athanor.ops;

/**
 * Thrown when an op rejects a request. Each cause is a subclass; the message states what was given
 * and what is valid.
 */
public abstract sealed class OpException extends RuntimeException {

  private final String field;

  private OpException(String field, String message) {
    super(message);
    this.field = field;
  }

  /** Returns the name of the rejected input, attribute or output. */
  public String field() {
    return field;
  }

  /** Incompatible or unsupported shapes. */
  public static final class ShapeMismatch extends OpException {
    public ShapeMismatch(String field, String message) {
      super(field, message);
    }
  }

  /** An unsupported dtype. */
  public static final class UnsupportedDType extends OpException {
    public UnsupportedDType(String field, String message) {
      super(field, message);
    }
  }

  /** An attribute value of the wrong type or out of range. */
  public static final class InvalidAttribute extends OpException {
    public InvalidAttribute(String field, String message) {
      super(field, message);
    }
  }

  /** A missing required input. */
  public static final class MissingInput extends OpException {
    public MissingInput(String field, String message) {
      super(field, message);
    }
  }

  /** An unknown name; the field is a path such as {@code inputs.z}. */
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

  /** An operation that this device does not support; the message states which devices do. */
  public static final class UnsupportedOnDevice extends OpException {
    public UnsupportedOnDevice(String field, String message) {
      super(field, message);
    }
  }
}
