package dev.athanor.cli.client;

import dev.athanor.client.Athanor;
import dev.athanor.client.AthanorException;
import dev.athanor.client.Tensor;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The option {@code --url}, and the credentials in {@code ATHANOR_API_KEY}, which an option would
 * show in process lists.
 */
public final class ServiceOption {

  private static final String URL = "ATHANOR_URL";
  private static final String KEY = "ATHANOR_API_KEY";

  /** Bounds a call, such as the upload of a large tensor. */
  private static final Duration DEADLINE = Duration.ofMinutes(10);

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec command;

  @Option(
      names = "--url",
      paramLabel = "URL",
      description = {
        "the URL of the service; default: the environment variable ATHANOR_URL, else http://127.0.0.1:8080",
        "The environment variable ATHANOR_API_KEY contains the API key or bearer token."
      })
  private @Nullable String given;

  /** Returns whether the command line has {@code --url}. */
  public boolean isGiven() {
    return given != null;
  }

  /**
   * Returns the URL of the service.
   *
   * @throws ParameterException if it is not an HTTP URL
   */
  public URI url() {
    var text =
        given != null
            ? given
            : Optional.ofNullable(System.getenv(URL)).orElse("http://127.0.0.1:8080");
    try {
      var uri = URI.create(text);
      if (uri.getHost() != null && String.valueOf(uri.getScheme()).matches("https?")) {
        return uri;
      }
    } catch (IllegalArgumentException e) {
      throw notUrl(text);
    }
    throw notUrl(text);
  }

  private ParameterException notUrl(String text) {
    return usageError(
        "%s %s: expected a URL such as http://127.0.0.1:8080"
            .formatted(given == null ? URL : "--url", text));
  }

  /** Returns the header with the credentials; empty if the environment has none. */
  public Map<String, String> headers() {
    return Optional.ofNullable(System.getenv(KEY))
        .map(key -> Map.of("Authorization", "Bearer " + key.strip()))
        .orElse(Map.of());
  }

  /**
   * Returns a client, which connects with its first call.
   *
   * @throws ParameterException if the URL is invalid
   */
  public Athanor connect() {
    var builder = Athanor.builder(url().toString()).deadline(DEADLINE);
    headers().forEach(builder::header);
    return builder.build();
  }

  /**
   * Returns an existing tensor.
   *
   * @param handle its handle or name
   * @throws ParameterException if it cannot be one
   */
  public Tensor attach(Athanor athanor, String handle) {
    try {
      return athanor.attach(handle);
    } catch (IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
  }

  /** Returns the reason of a failed call in one sentence. */
  public static String sentence(AthanorException e) {
    return !e.code().equals("unauthenticated")
        ? e.detail()
        : System.getenv(KEY) == null
            ? "the service requires an API key or a bearer token; set the environment variable "
                + KEY
            : "the service rejects the credentials in %s: %s".formatted(KEY, e.detail());
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(command.commandLine(), sentence);
  }
}
