package dev.athanor.client;

import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** Settings of a client. */
public final class AthanorBuilder {

  final URI url;
  Duration connectTimeout = Duration.ofSeconds(10);
  Duration deadline = Duration.ofMinutes(1);
  Duration lease = Duration.ofMinutes(10);
  int maxRetries = 3;
  @Nullable SSLContext sslContext;
  CallListener listener = (op, outcome, duration) -> {};
  private @Nullable String apiKey;
  private @Nullable Supplier<String> bearerToken;
  private final Map<String, String> headers = new HashMap<>();
  private final Map<String, URI> replicas = new HashMap<>();

  AthanorBuilder(String url) {
    this.url = parse(url);
  }

  private static URI parse(String text) {
    try {
      var url = new URI(text);
      if (String.valueOf(url.getScheme()).matches("https?|grpcs?") && url.getHost() != null) {
        return url;
      }
    } catch (URISyntaxException e) {
      // a host without a scheme, for example
    }
    throw new IllegalArgumentException(
        "The URL must be http://HOST:PORT, https://, grpc:// or grpcs://, not %s.".formatted(text));
  }

  /** Authenticates with an API key. */
  public AthanorBuilder apiKey(String key) {
    apiKey = key;
    return this;
  }

  /**
   * Authenticates with a bearer token.
   *
   * @param token called for every request; should cache the token
   */
  public AthanorBuilder bearerToken(Supplier<String> token) {
    bearerToken = token;
    return this;
  }

  /** Adds a header to every request; over gRPC, it is metadata. */
  public AthanorBuilder header(String name, String value) {
    headers.put(name, value);
    return this;
  }

  /** Sets the trusted certificates and the client certificate; the default is the JVM's. */
  public AthanorBuilder sslContext(SSLContext context) {
    sslContext = context;
    return this;
  }

  /** Bounds the time of each call, retries included; the default is a minute. */
  public AthanorBuilder deadline(Duration limit) {
    deadline = positive(limit, "deadline");
    return this;
  }

  /** Bounds the time to establish a connection; the default is 10 seconds. */
  public AthanorBuilder connectTimeout(Duration limit) {
    connectTimeout = positive(limit, "connectTimeout");
    return this;
  }

  /** Limits the retries of a call; the default is 3, and 0 disables retries. */
  public AthanorBuilder maxRetries(int limit) {
    if (limit < 0) {
      throw new IllegalArgumentException("maxRetries must not be negative, but is " + limit + ".");
    }
    maxRetries = limit;
    return this;
  }

  /**
   * Sets the lease of tensors; the default is 10 minutes. The client renews leases while tensors
   * are open; the service frees the tensors of a client that exits without closing them.
   */
  public AthanorBuilder lease(Duration value) {
    if (value.compareTo(Duration.ofSeconds(1)) < 0) {
      throw new IllegalArgumentException("lease must be at least 1 s, but is " + value + ".");
    }
    lease = value;
    return this;
  }

  /**
   * Adds the URL of a replica. A call that the service rejects with {@code wrong-replica} is sent
   * once to the right replica.
   *
   * @param name the value of {@code athanor.replica}, such as {@code athanor-1}, or the part after
   *     its last hyphen
   * @param url the URL of the replica
   */
  public AthanorBuilder replica(String name, String url) {
    replicas.put(id(name), parse(url));
    return this;
  }

  /** Sets the observer of calls. */
  public AthanorBuilder listener(CallListener value) {
    listener = value;
    return this;
  }

  /** Returns a client. It connects with its first call. */
  public Athanor build() {
    return new Athanor(new Session(this));
  }

  @Nullable URI replica(String name) {
    return replicas.get(id(name));
  }

  private static String id(String name) {
    return name.substring(name.lastIndexOf('-') + 1);
  }

  /** Returns the headers of a request, including credentials. */
  Map<String, String> headers() {
    var all = new HashMap<>(headers);
    if (apiKey != null) {
      all.put("X-API-Key", apiKey);
    }
    if (bearerToken != null) {
      all.put("Authorization", "Bearer " + bearerToken.get());
    }
    return all;
  }

  private static Duration positive(Duration value, String name) {
    if (value.isNegative() || value.isZero()) {
      throw new IllegalArgumentException(name + " must be positive, but is " + value + ".");
    }
    return value;
  }
}
