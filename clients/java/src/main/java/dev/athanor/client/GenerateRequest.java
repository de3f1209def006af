package dev.athanor.client;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A request to generate tokens, {@code GenerateRequest.of(1, 15043).maxTokens(32).seed(7)}. The
 * service checks the values.
 */
public final class GenerateRequest {

  /** The members of the JSON request. */
  private final Map<String, Object> members = new LinkedHashMap<>();

  private @Nullable Duration deadline;

  private GenerateRequest(List<Long> tokens) {
    members.put("tokens", tokens);
  }

  /** Starts a request with the token IDs of the prompt; at least one. */
  public static GenerateRequest of(long... tokens) {
    return new GenerateRequest(list(tokens));
  }

  /** Starts a request with the token IDs of the prompt; at least one. */
  public static GenerateRequest of(List<Long> tokens) {
    return new GenerateRequest(List.copyOf(tokens));
  }

  private static List<Long> list(long[] tokens) {
    return Arrays.stream(tokens).boxed().toList();
  }

  private GenerateRequest with(String name, Object value) {
    members.put(name, value);
    return this;
  }

  /** Continues a session, which then contains the prompt and all tokens; by default, none. */
  public GenerateRequest session(String id) {
    return with("session", id);
  }

  /** Sets the maximum number of tokens to generate; the default is 128. */
  public GenerateRequest maxTokens(int count) {
    return with("maxTokens", count);
  }

  /** Sets the tokens after which generation ends; by default, none. */
  public GenerateRequest stop(long... tokens) {
    return with("stop", list(tokens));
  }

  /** Sets the key of the random numbers; by default random. */
  public GenerateRequest seed(long value) {
    return with("seed", value);
  }

  /** Sets the divisor of the logits; 0 draws the most probable token. The default is 1. */
  public GenerateRequest temperature(double value) {
    return with("temperature", value);
  }

  /** Draws from the most probable tokens only, this many; 0, the default, for all. */
  public GenerateRequest topK(long count) {
    return with("topK", count);
  }

  /**
   * Draws from the fewest most probable tokens whose probabilities have at least this sum; the
   * default is 1.
   */
  public GenerateRequest topP(double sum) {
    return with("topP", sum);
  }

  /** Draws from tokens with at least this fraction of the highest probability; the default is 0. */
  public GenerateRequest minP(double fraction) {
    return with("minP", fraction);
  }

  /** Bounds the time of the call, retries included; the default is the client's. */
  public GenerateRequest deadline(Duration limit) {
    deadline = limit;
    return this;
  }

  Map<String, Object> members() {
    return members;
  }

  @Nullable Duration deadline() {
    return deadline;
  }
}
