package dev.athanor.service.tensor;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Makes handles: {@code t_}, 128 random bits in hexadecimal, and the mark of the replica that owns
 * the tensor.
 */
public final class Handles {

  private static final Pattern FORM = Pattern.compile("t_[0-9a-f]{32}_[0-9a-z]{1,16}");

  private final SecureRandom random = new SecureRandom();
  private final String replica;
  private final boolean several;

  /**
   * @param replica the replica's name, such as that of its pod; what follows the last hyphen is the
   *     mark: 1 to 16 lower-case letters and digits. Empty for four random digits, where there is
   *     but one replica
   */
  public Handles(String replica) {
    several = !replica.isEmpty();
    this.replica = replica.isEmpty() ? hex(2) : replica.substring(replica.lastIndexOf('-') + 1);
  }

  String next() {
    return "t_" + hex(16) + "_" + replica;
  }

  /** Whether a text could be a handle. */
  public static boolean isHandle(String text) {
    return FORM.matcher(text).matches();
  }

  /** The replica that a handle names, if that is another one. */
  Optional<String> otherReplica(String handle) {
    var named = handle.substring(handle.lastIndexOf('_') + 1);
    return several && !named.equals(replica) ? Optional.of(named) : Optional.empty();
  }

  private String hex(int bytes) {
    var bits = new byte[bytes];
    random.nextBytes(bits);
    return HexFormat.of().formatHex(bits);
  }
}
