package dev.athanor.models;

import java.util.List;

/** A model that cannot be used. The message says why. */
public abstract sealed class ModelException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private ModelException(String message) {
    super(message);
  }

  private ModelException(String message, Throwable cause) {
    super(message, cause);
  }

  /** A file is not of a known format, or is damaged. */
  public static final class Malformed extends ModelException {
    private static final long serialVersionUID = 1;

    public Malformed(String message) {
      super(message);
    }
  }

  /** The inputs of a call do not suit the model. */
  public static final class InvalidInput extends ModelException {
    private static final long serialVersionUID = 1;

    public InvalidInput(String message) {
      super(message);
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
      super(String.join("\n", nodes));
    }

    public Unsupported(String node, Throwable cause) {
      super(node, cause);
    }
  }
}
