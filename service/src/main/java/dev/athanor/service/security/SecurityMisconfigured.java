package dev.athanor.service.security;

/** The settings would leave the service open, or closed to everyone: it does not start. */
public final class SecurityMisconfigured extends RuntimeException {

  /**
   * @param sentence what is set, and what would be right
   */
  public SecurityMisconfigured(String sentence) {
    super(sentence);
  }
}
