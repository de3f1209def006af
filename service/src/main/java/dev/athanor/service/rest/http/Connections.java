package dev.athanor.service.rest.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/**
 * Configures the connections of REST, and tells about the connection of the request at hand what
 * servlets do not learn: whether its client has hung up (one that closes its half counts as gone),
 * and whether its body was read.
 */
@Component
public class Connections implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {

  private static final String MAX_CONNECTIONS = "server.tomcat.max-connections";

  /** A busy connection takes about a quarter of this, in the heap and outside of it. */
  private static final long HEAP_PER_CONNECTION = 1 << 20;

  private static final int MOST_CONNECTIONS = 4096;

  private static final Duration LONGEST_SILENCE = Duration.ofMinutes(1);

  private final Environment environment;
  private final long maxBodyBytes;

  Connections(Environment environment, RestSettings settings) {
    this.environment = environment;
    maxBodyBytes = settings.maxBodyBytes();
  }

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    factory.setProtocol(HttpProtocol.class.getName());
    factory.addConnectorCustomizers(connector -> {
      var protocol = (HttpProtocol) connector.getProtocolHandler();
      protocol.unreadBodies().setMaxBytes(maxBodyBytes);
      if (!environment.containsProperty(MAX_CONNECTIONS)) {
        protocol.setMaxConnections(maxConnections(Runtime.getRuntime().maxMemory()));
      }
    });
  }

  /** How many connections a heap of this many bytes has room for. */
  static int maxConnections(long heapBytes) {
    return Math.clamp(heapBytes / HEAP_PER_CONNECTION, 64, MOST_CONNECTIONS);
  }

  /**
   * Whether the client of this thread's request has gone; to be asked once the body was read, by
   * one thread at a time, until the answer is begun.
   */
  public static BooleanSupplier clientHasGone() {
    var current = HttpProcessor.currentOrNull();
    if (current == null) {
      return () -> false;
    }
    var socket = current.socket();
    return () -> hasGone(socket);
  }

  /** How long the client of this thread's request may send nothing. */
  static Duration silence() {
    var current = HttpProcessor.currentOrNull();
    long millis = current == null ? 0 : current.socket().getReadTimeout();
    return millis > 0 ? Duration.ofMillis(millis) : LONGEST_SILENCE;
  }

  /** Whether this thread's request has no body, or none of it is left to read. */
  static boolean isBodyRead() {
    var current = HttpProcessor.currentOrNull();
    return current == null || current.isBodyRead();
  }

  /** Waits no more for the body of this thread's request; its connection is closed. */
  public static void abandonBody() {
    var current = HttpProcessor.currentOrNull();
    if (current != null) {
      current.abandonBody();
    }
  }

  /**
   * Closes the connection of this thread's request in the middle of its answer, if some of it was
   * sent. A response counts as committed, too, when the container is about to answer itself.
   */
  public static void breakOffAnswer() {
    var current = HttpProcessor.currentOrNull();
    if (current != null) {
      current.breakOffAnswer();
    }
  }

  /** Gives this thread's request buffers of a size for tensors, for as long as it takes. */
  static void enlargeBuffers() {
    var current = HttpProcessor.currentOrNull();
    if (current != null) {
      current.enlargeBuffers();
    }
  }

  private static boolean hasGone(SocketWrapperBase<?> socket) {
    if (socket.isClosed()) {
      return true;
    }
    try {
      var next = ByteBuffer.allocate(1);
      int count = socket.read(false, next);
      if (count > 0) {
        socket.unRead(next.flip()); // of the next request, which may come early
      }
      return count < 0;
    } catch (IOException e) {
      return true;
    }
  }
}
