package dev.athanor.service;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Gives Awaitility a timeout that a slow machine does not reach. It is registered for all tests.
 */
public final class AwaitilityTimeout implements BeforeAllCallback {

  @Override
  public void beforeAll(ExtensionContext context) {
    Awaitility.setDefaultTimeout(Duration.ofHours(1));
  }
}
