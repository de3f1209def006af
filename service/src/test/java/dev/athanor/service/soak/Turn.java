package dev.athanor.service.soak;

import java.util.SplittableRandom;

/**
 * One action of a client.
 *
 * @param random a generator seeded with the number of the turn, so that the turn is repeatable
 * @param key the API key of a tenant
 */
record Turn(SplittableRandom random, String key, Sample sample) {

  /** An action of a client: one request or several related ones. */
  interface Action {
    /**
     * Runs the action.
     *
     * @throws Refusal if the service rejected it
     * @throws AssertionError if the response was incorrect
     */
    void of(Turn turn) throws Exception;
  }

  int priority() {
    return random.nextInt(1, 6);
  }

  /**
   * Returns a random deadline in milliseconds. A busy service meets few of them, an idle one most.
   */
  int millis() {
    return 1 << random.nextInt(12);
  }

  byte[] bytes(int max) {
    var bytes = new byte[random.nextInt(1, max)];
    random.nextBytes(bytes);
    return bytes;
  }
}
