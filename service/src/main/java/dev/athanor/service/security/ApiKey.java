package dev.athanor.service.security;

import dev.athanor.service.tensor.Tenant;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * An API key as stored in the key file: a line with name, tenant, scopes and hash. Only the caller
 * has the key itself, {@code ath_NAME_SECRET}. Its secret has 256 random bits, so a plain SHA-256
 * resists brute force.
 *
 * @param hash SHA-256 of the whole key, in hexadecimal
 */
public record ApiKey(Caller caller, String hash) {

  private static final Pattern FORM = Pattern.compile("ath_([0-9a-f]{8})_[A-Za-z0-9_-]{43}");
  private static final Pattern NAME = Pattern.compile("[0-9a-f]{8}");
  private static final Pattern HASH = Pattern.compile("sha256:([0-9a-f]{64})");
  private static final Pattern SPACE = Pattern.compile("[ \\t]+");

  /**
   * A newly created key.
   *
   * @param key the key for the caller
   * @param line the line for the file
   */
  public record NewKey(String key, String line) {}

  /** Creates a key. */
  public static NewKey create(Tenant tenant, Set<Scope> scopes, SecureRandom random) {
    var name = HexFormat.of().formatHex(bytes(random, 4));
    var secret = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes(random, 32));
    var key = "ath_" + name + "_" + secret;
    return new NewKey(
        key,
        "%s  %s  %s  sha256:%s".formatted(name, tenant.name(), Scope.list(scopes), sha256(key)));
  }

  private static byte[] bytes(SecureRandom random, int count) {
    var bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  /** Returns the name in a key; empty if the text is not in the format of a key. */
  static Optional<String> name(String key) {
    var m = FORM.matcher(key);
    return m.matches() ? Optional.of(m.group(1)) : Optional.empty();
  }

  /** Whether this is the key, compared in constant time. */
  boolean is(String key) {
    return MessageDigest.isEqual(
        hash.getBytes(StandardCharsets.US_ASCII), sha256(key).getBytes(StandardCharsets.US_ASCII));
  }

  private static String sha256(String text) {
    try {
      var digest = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(digest.digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  /**
   * Parses the lines of a key file. Empty lines and lines that begin with {@code #} are ignored.
   *
   * @return the keys by name
   * @throws IllegalArgumentException with the number of an invalid line, never with its contents
   */
  static Map<String, ApiKey> parse(List<String> lines) {
    var keys = new HashMap<String, ApiKey>();
    for (int i = 0; i < lines.size(); i++) {
      var line = lines.get(i).strip();
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      try {
        var key = parse(line);
        if (keys.put(key.caller.id(), key) != null) {
          throw new IllegalArgumentException("duplicate name");
        }
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("line %d: %s".formatted(i + 1, e.getMessage()), e);
      }
    }
    return Map.copyOf(keys);
  }

  private static ApiKey parse(String line) {
    var fields = List.of(SPACE.split(line, -1));
    if (fields.size() != 4) {
      throw new IllegalArgumentException(
          "%d fields; a key has four: NAME TENANT SCOPES sha256:HASH".formatted(fields.size()));
    }
    if (!NAME.matcher(fields.get(0)).matches()) {
      throw new IllegalArgumentException("a name must have 8 hexadecimal digits");
    }
    var hash = HASH.matcher(fields.get(3));
    if (!hash.matches()) {
      throw new IllegalArgumentException(
          "a hash must be sha256: followed by 64 hexadecimal digits");
    }
    var caller = new Caller(fields.get(0), new Tenant(fields.get(1)), Scope.list(fields.get(2)));
    return new ApiKey(caller, hash.group(1));
  }
}
