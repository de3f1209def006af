package dev.athanor.service.security;

/** Thrown at startup if the security settings would leave the service open or unusable. */
public final class SecurityMisconfigured extends RuntimeException {

  /**
   * @param sentence what is set, and how to fix it
   */
  public SecurityMisconfigured(String sentence) {
    super(sentence);
  }
}
