package dev.athanor.junit;

import org.junit.jupiter.api.extension.ExtensionContext;

/** Names of tests for messages. */
final class TestNames {

  private TestNames() {}

  /** Returns the binary name of the class and the name of the method. */
  static String of(ExtensionContext context) {
    return context.getRequiredTestClass().getName()
        + "#"
        + context.getRequiredTestMethod().getName();
  }
}
