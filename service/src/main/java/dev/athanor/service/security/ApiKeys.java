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
 * Authenticates callers by API keys, whose hashes are in a file. The file is reloaded atomically
 * when it changes; while it is invalid or missing, the previous keys stay valid.
 */
public final class ApiKeys implements Callers {

  private static final Logger LOG = LoggerFactory.getLogger(ApiKeys.class);

  /** Compared with keys of unknown name, so that timing does not reveal which names exist. */
  private static final ApiKey DUMMY = new ApiKey(Caller.LOCAL, "0".repeat(64));

  /** Marks a missing file; no valid file has this text. */
  private static final String MISSING = "gone";

  private final Path file;
  private volatile Map<String, ApiKey> keys;
  private String seen;

  /**
   * @throws SecurityMisconfigured if the file cannot be read or is invalid
   */
  public ApiKeys(Path file) {
    this.file = file;
    try {
      seen = read();
      keys = parse(seen);
    } catch (IOException e) {
      throw new SecurityMisconfigured(
          "athanor.security.api-keys.file is %s, which cannot be read; create keys with \"athanor api-key create\""
              .formatted(file));
    } catch (IllegalArgumentException e) {
      throw new SecurityMisconfigured(
          "athanor.security.api-keys.file is %s, which is invalid at %s"
              .formatted(file, e.getMessage()));
    }
    LOG.info("Loaded {} API keys from {}", keys.size(), file);
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
        LOG.info("Reloaded {} API keys from {}", keys.size(), file);
      }
    } catch (IOException e) {
      if (!seen.equals(MISSING)) {
        seen = MISSING;
        LOG.error("{} cannot be read; the previous {} API keys stay valid", file, keys.size());
      }
    } catch (IllegalArgumentException e) {
      LOG.error(
          "{} is invalid at {}; the previous {} API keys stay valid",
          file,
          e.getMessage(),
          keys.size());
    }
  }

  @Override
  public Caller identify(Credentials credentials) {
    var key =
        credentials
            .key()
            .orElseThrow(() ->
                Callers.unauthenticated(
                    "API key required; send it as Authorization: Bearer … or X-API-Key"));
    var named = ApiKey.name(key).flatMap(name -> Optional.ofNullable(keys.get(name)));
    if (!named.orElse(DUMMY).is(key) || named.isEmpty()) {
      throw Callers.unauthenticated("Unknown API key.");
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
