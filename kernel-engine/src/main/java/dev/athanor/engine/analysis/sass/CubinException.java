package dev.athanor.engine.analysis.sass;

/** A file that is not a cubin, or a cubin that is damaged or too old to be decoded. */
public final class CubinException extends RuntimeException {

  private static final long serialVersionUID = 1;

  CubinException(String message) {
    super(message);
  }
}
