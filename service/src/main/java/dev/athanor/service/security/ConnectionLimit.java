package dev.athanor.service.security;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The maximum number of connections of a protocol: as configured or, by default, one per MiB of
 * heap. REST may use at most half of the files that the process may open, and gRPC a quarter. The
 * rest remains for other replicas, devices and files.
 */
public final class ConnectionLimit {

  private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);

  /**
   * Heap reserved per connection; a busy connection uses about a quarter of it, on and off heap.
   */
  private static final long HEAP_PER_CONNECTION = 1 << 20;

  private static final int MIN_DEFAULT = 64;
  private static final int MAX_DEFAULT = 4096;

  private final int connections;

  /**
   * @param configured the configured number; negative for unlimited, and null for the default
   * @param openFiles the number of files that the process may open
   * @param share the part of these files, as a divisor, that connections may use
   */
  ConnectionLimit(
      String protocol,
      String setting,
      @Nullable Integer configured,
      long heapBytes,
      long openFiles,
      int share) {
    int wanted =
        configured == null
            ? Math.clamp(heapBytes / HEAP_PER_CONNECTION, MIN_DEFAULT, MAX_DEFAULT)
            : configured < 0 ? Integer.MAX_VALUE : configured;
    connections = (int) Math.min(wanted, openFiles / share);
    if (connections < wanted) {
      LOG.warn(
          "{} accepts at most {} connections instead of {} ({}), since the process may open only {} files (ulimit -n)",
          protocol,
          connections,
          wanted == Integer.MAX_VALUE ? "any number" : wanted,
          setting,
          openFiles);
    }
  }

  /** Returns the limit of REST, with the value of {@code server.tomcat.max-connections}, if set. */
  public static ConnectionLimit rest(@Nullable Integer configured) {
    return new ConnectionLimit(
        "REST",
        "server.tomcat.max-connections",
        configured,
        Runtime.getRuntime().maxMemory(),
        openFiles(),
        2);
  }

  /** Returns the limit of gRPC, with the value of {@code athanor.grpc.max-connections}, if set. */
  public static ConnectionLimit grpc(@Nullable Integer configured) {
    return new ConnectionLimit(
        "gRPC",
        "athanor.grpc.max-connections",
        configured,
        Runtime.getRuntime().maxMemory(),
        openFiles(),
        4);
  }

  private static long openFiles() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
        ? unix.getMaxFileDescriptorCount()
        : Long.MAX_VALUE;
  }

  /** Returns the maximum number of connections. */
  public int connections() {
    return connections;
  }
}
