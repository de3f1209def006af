package dev.athanor.service.soak;

import java.util.SplittableRandom;

/**
 * What a client asks for this time.
 *
 * @param random of this turn alone, so that its number repeats it
 * @param key of a tenant
 */
record Turn(SplittableRandom random, String key, Sample sample) {

  /** What a client does: one request, or some that belong together. */
  interface Action {
    /**
     * Does it.
     *
     * @throws Refusal when the service could not do it now
     * @throws AssertionError when it did it wrong
     */
    void of(Turn turn) throws Exception;
  }

  int priority() {
    return random.nextInt(1, 6);
  }

  /** A deadline: few are met by a service that has much to do, and most by one that has not. */
  int millis() {
    return 1 << random.nextInt(12);
  }

  byte[] bytes(int most) {
    var bytes = new byte[random.nextInt(1, most)];
    random.nextBytes(bytes);
    return bytes;
  }
}
