package dev.athanor.models;

import dev.athanor.ops.OpException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A model that cannot be used. The message says why. */
public abstract sealed class ModelException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final @Nullable String field;

  private ModelException(@Nullable String field, String message) {
    super(message);
    this.field = field;
  }

  private ModelException(String message, Throwable cause) {
    super(message, cause);
    field = null;
  }

  /** Returns the path of the member that the message is about; null if it is not about one. */
  public @Nullable String field() {
    return field;
  }

  /** A file is not of a known format, or is damaged. */
  public static final class Malformed extends ModelException {
    private static final long serialVersionUID = 1;

    public Malformed(String message) {
      super(null, message);
    }

    public Malformed(String field, String message) {
      super(field, message);
    }
  }

  /** The inputs of a call do not suit the model. */
  public static final class InvalidInput extends ModelException {
    private static final long serialVersionUID = 1;

    public InvalidInput(String message) {
      super(null, message);
    }

    public InvalidInput(String field, String message) {
      super(field, message);
    }
  }

  /** The op of a step rejects it. */
  public static final class InvalidStep extends ModelException {
    private static final long serialVersionUID = 1;

    private final int index;
    private final String op;
    private final OpException rejection;

    /**
     * Creates the exception.
     *
     * @param index of the step, from 0
     */
    public InvalidStep(int index, String op, OpException rejection) {
      super("steps[%d] of %s: %s".formatted(index, op, rejection.getMessage()), rejection);
      this.index = index;
      this.op = op;
      this.rejection = rejection;
    }

    public int index() {
      return index;
    }

    public String op() {
      return op;
    }

    public OpException rejection() {
      return rejection;
    }
  }

  /** Ops cannot express some nodes. */
  public static final class Unsupported extends ModelException {
    private static final long serialVersionUID = 1;

    /**
     * Creates the exception.
     *
     * @param nodes a sentence for each node
     */
    public Unsupported(List<String> nodes) {
      super(null, String.join("\n", nodes));
    }

    public Unsupported(String node, Throwable cause) {
      super(node, cause);
    }
  }
}
