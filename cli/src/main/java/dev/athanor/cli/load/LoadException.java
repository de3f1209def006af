package dev.athanor.cli.load;

/** The service cannot be measured: it does not answer, or answers what a scenario cannot use. */
public final class LoadException extends RuntimeException {

  private static final long serialVersionUID = 1;

  public LoadException(String message) {
    super(message);
  }
}
