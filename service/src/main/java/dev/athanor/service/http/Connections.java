package dev.athanor.service.http;

import dev.athanor.service.security.ConnectionLimit;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/**
 * Configures REST connections, and exposes state of the current request's connection that servlets
 * cannot see: whether the client has disconnected, and whether the body was read.
 */
@Component
public class Connections implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {

  private static final Duration DEFAULT_READ_TIMEOUT = Duration.ofMinutes(1);

  private final ConnectionLimit limit;
  private final long maxBodyBytes;

  Connections(ConnectionLimit limit, RestSettings settings) {
    this.limit = limit;
    maxBodyBytes = settings.maxBodyBytes();
  }

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    factory.setProtocol(HttpProtocol.class.getName());
    var http2 = factory.getHttp2();
    boolean speaksHttp2 = http2 != null && http2.isEnabled();
    factory.setHttp2(null); // Spring Boot would add Tomcat's own, with other limits
    factory.addConnectorCustomizers(connector -> {
      var protocol = (HttpProtocol) connector.getProtocolHandler();
      protocol.unreadBodies().setMaxBytes(maxBodyBytes);
      protocol.setMaxConnections(limit.connections());
      if (speaksHttp2) {
        connector.addUpgradeProtocol(new H2Protocol(protocol));
      }
    });
  }

  /**
   * Returns a check whether the client of this thread's request has disconnected or canceled it.
   * Valid after the body was read and before the response begins, for one thread at a time.
   */
  public static BooleanSupplier clientHasGone() {
    var current = Exchange.CURRENT.get();
    return current == null ? () -> false : current.clientHasGone();
  }

  /** Returns the read timeout of this thread's request. */
  static Duration silence() {
    var current = Exchange.CURRENT.get();
    long millis = current == null ? 0 : current.readTimeoutMillis();
    return millis > 0 ? Duration.ofMillis(millis) : DEFAULT_READ_TIMEOUT;
  }

  /** Whether the body of this thread's request is absent or fully read. */
  static boolean isBodyRead() {
    var current = Exchange.CURRENT.get();
    return current == null || current.isBodyRead();
  }

  /**
   * Discards what has arrived of the body of this thread's request. Returns whether the body has
   * ended, so that the connection can be reused after the response.
   */
  static boolean discardArrivedBody() {
    var current = Exchange.CURRENT.get();
    return current == null || current.discardArrivedBody();
  }

  /** Whether the connection must close if the body of this thread's request is not read. */
  static boolean needsWholeBody() {
    var current = Exchange.CURRENT.get();
    return current != null && current.needsWholeBody();
  }

  /** Stops reading the body of this thread's request and closes its connection afterwards. */
  public static void abandonBody() {
    var current = Exchange.CURRENT.get();
    if (current != null) {
      current.abandonBody();
    }
  }

  /**
   * Aborts the response of this thread's request by closing the connection, if part of it was sent.
   * A response that the container is about to send also counts as committed.
   */
  public static void abortResponse() {
    var current = Exchange.CURRENT.get();
    if (current != null) {
      current.abortResponse();
    }
  }

  /** Switches this thread's request to large buffers until it ends. */
  static void enlargeBuffers() {
    var current = Exchange.CURRENT.get();
    if (current != null) {
      current.enlargeBuffers();
    }
  }
}
