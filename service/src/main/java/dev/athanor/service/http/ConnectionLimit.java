package dev.athanor.service.http;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/**
 * The maximum number of REST connections: as configured or, by default, one per MiB of heap, and at
 * most half of the files that the process may open. The other half remains for gRPC, other
 * replicas, devices and files.
 */
@Component
public final class ConnectionLimit {

  private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);

  private static final String SETTING = "server.tomcat.max-connections";

  /**
   * Heap reserved per connection; a busy connection uses about a quarter of it, on and off heap.
   */
  private static final long HEAP_PER_CONNECTION = 1 << 20;

  private static final int MIN_DEFAULT = 64;
  private static final int MAX_DEFAULT = 4096;

  private final int connections;

  @Autowired
  ConnectionLimit(Environment environment) {
    this(
        environment.getProperty(SETTING, Integer.class),
        Runtime.getRuntime().maxMemory(),
        openFiles());
  }

  /**
   * @param configured the configured number; negative for unlimited, and null for the default
   * @param openFiles the number of files that the process may open
   */
  ConnectionLimit(@Nullable Integer configured, long heapBytes, long openFiles) {
    int wanted =
        configured == null
            ? Math.clamp(heapBytes / HEAP_PER_CONNECTION, MIN_DEFAULT, MAX_DEFAULT)
            : configured < 0 ? Integer.MAX_VALUE : configured;
    connections = (int) Math.min(wanted, openFiles / 2);
    if (connections < wanted) {
      LOG.warn(
          "REST accepts at most {} connections instead of {} ({}), since the process may open only {} files (ulimit -n)",
          connections,
          wanted == Integer.MAX_VALUE ? "any number" : wanted,
          SETTING,
          openFiles);
    }
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
