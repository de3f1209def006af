package dev.athanor.service.tensor;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Creates handles: {@code t_}, 128 random bits in hexadecimal, and the id of the replica that owns
 * the tensor. The ids of sessions begin with {@code s_} instead.
 */
public final class Handles {

  private static final Pattern FORM = Pattern.compile("t_[0-9a-f]{32}_[0-9a-z]{1,16}");

  private final SecureRandom random = new SecureRandom();
  private final String replica;
  private final boolean several;
  private final String url;

  /**
   * Creates handles of a replica without URLs of other replicas; see {@link #Handles(String,
   * String)}.
   */
  public Handles(String replica) {
    this(replica, "");
  }

  /**
   * @param replica the name of the replica, such as its pod's name. The text after the last hyphen,
   *     1 to 16 lower-case letters and digits, is its id. Empty for a single replica, whose id is
   *     four random digits
   * @param url the URL of a replica's REST interface, with {@code {replica}} as a placeholder for
   *     its id; empty if not configured
   */
  public Handles(String replica, String url) {
    this.url = url;
    several = !replica.isEmpty();
    this.replica = replica.isEmpty() ? hex(2) : replica.substring(replica.lastIndexOf('-') + 1);
  }

  String next() {
    return next('t');
  }

  /** Creates the id of a session. */
  public String nextSession() {
    return next('s');
  }

  private String next(char kind) {
    return kind + "_" + hex(16) + "_" + replica;
  }

  /** Whether a text has the format of a handle. */
  public static boolean isHandle(String text) {
    return FORM.matcher(text).matches();
  }

  /** Whether a text has the format of the id of a session. */
  public static boolean isSession(String text) {
    return text.startsWith("s") && isHandle("t" + text.substring(1));
  }

  /** Returns the replica in a handle or the id of a session, if it is not this one. */
  public Optional<String> otherReplica(String handle) {
    var named = handle.substring(handle.lastIndexOf('_') + 1);
    return several && !named.equals(replica) ? Optional.of(named) : Optional.empty();
  }

  /** Returns the id of this replica, with which its handles end. */
  public String replica() {
    return replica;
  }

  /** Returns the REST URL of a replica by its id; null if not configured. */
  public @Nullable String url(String id) {
    return url.isEmpty() ? null : url.replace("{replica}", id);
  }

  private String hex(int bytes) {
    var bits = new byte[bytes];
    random.nextBytes(bits);
    return HexFormat.of().formatHex(bits);
  }
}
