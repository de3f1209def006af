package dev.athanor.service.tensor;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Creates handles: {@code t_}, 128 random bits in hexadecimal, and the id of the replica that owns
 * the tensor.
 */
public final class Handles {

  private static final Pattern FORM = Pattern.compile("t_[0-9a-f]{32}_[0-9a-z]{1,16}");

  private final SecureRandom random = new SecureRandom();
  private final String replica;
  private final boolean several;
  private final String url;

  /** Handles of a replica whose fellows have no address: see {@link #Handles(String, String)}. */
  public Handles(String replica) {
    this(replica, "");
  }

  /**
   * @param replica the replica's name, such as that of its pod; what follows the last hyphen is the
   *     mark: 1 to 16 lower-case letters and digits. Empty for four random digits, where there is
   *     but one replica
   * @param url the address of a replica's REST interface, with {@code {replica}} in the place of
   *     its mark; empty where it is not known
   */
  public Handles(String replica, String url) {
    this.url = url;
    several = !replica.isEmpty();
    this.replica = replica.isEmpty() ? hex(2) : replica.substring(replica.lastIndexOf('-') + 1);
  }

  String next() {
    return "t_" + hex(16) + "_" + replica;
  }

  /** Whether a text has the format of a handle. */
  public static boolean isHandle(String text) {
    return FORM.matcher(text).matches();
  }

  /** Returns the replica in a handle, if it is not this one. */
  public Optional<String> otherReplica(String handle) {
    var named = handle.substring(handle.lastIndexOf('_') + 1);
    return several && !named.equals(replica) ? Optional.of(named) : Optional.empty();
  }

  /** Returns the id of this replica, with which its handles end. */
  public String replica() {
    return replica;
  }

  /** The address of the REST interface of the replica with a mark; null where it is not known. */
  public @Nullable String url(String mark) {
    return url.isEmpty() ? null : url.replace("{replica}", mark);
  }

  private String hex(int bytes) {
    var bits = new byte[bytes];
    random.nextBytes(bits);
    return HexFormat.of().formatHex(bits);
  }
}
