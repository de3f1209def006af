package dev.athanor.cli.load;

/** A failure that prevents a measurement. */
public final class LoadException extends RuntimeException {

  private static final long serialVersionUID = 1;

  public LoadException(String message) {
    super(message);
  }
}
