package dev.athanor.onnx.file;

import java.util.List;

/** An ONNX model that cannot be used. The message says why. */
public abstract sealed class OnnxException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private OnnxException(String message) {
    super(message);
  }

  private OnnxException(String message, Throwable cause) {
    super(message, cause);
  }

  /** The file is not an ONNX model, or is damaged. */
  public static final class Malformed extends OnnxException {
    private static final long serialVersionUID = 1;

    public Malformed(String message) {
      super(message);
    }
  }

  /** The inputs of a call do not suit the model. */
  public static final class InvalidInput extends OnnxException {
    private static final long serialVersionUID = 1;

    public InvalidInput(String message) {
      super(message);
    }
  }

  /** The import cannot express some nodes. */
  public static final class Unsupported extends OnnxException {
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
