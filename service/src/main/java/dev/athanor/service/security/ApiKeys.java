package dev.athanor.service.security;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Callers with keys, whose hashes are in a file. The file is read again when it has changed, all of
 * it or nothing: while it is broken or gone the keys of before stay.
 */
public final class ApiKeys implements Callers {

  private static final Logger LOG = LoggerFactory.getLogger(ApiKeys.class);

  /** What a key is compared with whose name nobody has, so that this takes as long. */
  private static final ApiKey NOBODY = new ApiKey(Caller.LOCAL, "0".repeat(64));

  /** No file has this text, since a line of it would be broken. */
  private static final String GONE = "gone";

  private final Path file;
  private volatile Map<String, ApiKey> keys;
  private String seen;

  /**
   * @throws SecurityMisconfigured when the file cannot be read
   */
  public ApiKeys(Path file) {
    this.file = file;
    try {
      seen = read();
      keys = parse(seen);
    } catch (IOException e) {
      throw new SecurityMisconfigured(
          "athanor.security.api-keys.file is %s, which cannot be read; \"athanor api-key create\" makes keys"
              .formatted(file));
    } catch (IllegalArgumentException e) {
      throw new SecurityMisconfigured(
          "athanor.security.api-keys.file is %s, %s".formatted(file, e.getMessage()));
    }
    LOG.info("{} API keys from {}", keys.size(), file);
  }

  private String read() throws IOException {
    return Files.readString(file, StandardCharsets.UTF_8);
  }

  private static Map<String, ApiKey> parse(String text) {
    return ApiKey.parse(List.copyOf(text.lines().toList()));
  }

  @Override
  public synchronized void refresh() {
    try {
      var now = read();
      if (!now.equals(seen)) {
        seen = now;
        keys = parse(now);
        LOG.info("{} API keys from {}, which has changed", keys.size(), file);
      }
    } catch (IOException e) {
      if (!seen.equals(GONE)) {
        seen = GONE;
        LOG.error("{} cannot be read; the {} API keys of before stay", file, keys.size());
      }
    } catch (IllegalArgumentException e) {
      LOG.error(
          "{} is broken, {}; the {} API keys of before stay", file, e.getMessage(), keys.size());
    }
  }

  @Override
  public Caller identify(Credentials credentials) {
    var key =
        credentials
            .key()
            .orElseThrow(() ->
                Callers.unauthenticated(
                    "this needs an API key, as Authorization: Bearer … or X-API-Key"));
    var named = ApiKey.name(key).flatMap(name -> Optional.ofNullable(keys.get(name)));
    if (!named.orElse(NOBODY).is(key) || named.isEmpty()) {
      throw Callers.unauthenticated("the API key is not known here");
    }
    return named.get().caller();
  }

  @Override
  public String challenge() {
    return Credentials.BEARER;
  }

  @Override
  public List<String> schemes() {
    return List.of("bearer", "apiKey");
  }

  @Override
  public String credential() {
    return "API key";
  }
}
