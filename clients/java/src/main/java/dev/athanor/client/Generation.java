package dev.athanor.client;

import java.util.List;

/**
 * Generated tokens.
 *
 * @param reason {@code stop} after a stop token, {@code length} after the maximum of tokens or
 *     positions
 * @param seed the key of the random numbers; a request with it generates the same tokens
 * @param length the number of positions of the session
 */
public record Generation(List<Long> tokens, String reason, long seed, int length) {
  public Generation {
    tokens = List.copyOf(tokens);
  }
}
