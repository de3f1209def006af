package dev.athanor.engine.device;

import java.util.List;

/**
 * A failure of a device. The subclasses are all cases; devices throw no other exceptions for their
 * failures.
 */
public abstract sealed class DeviceException extends RuntimeException {
  private DeviceException(String message) {
    super(message);
  }

  /** A device is missing or cannot be opened. The message gives the reason in one sentence. */
  public static final class Unavailable extends DeviceException {
    public Unavailable(String message) {
      super(message);
    }
  }

  /** Device or host memory is exhausted. */
  public static final class OutOfMemory extends DeviceException {
    private final long requestedBytes;
    private final long freeBytes;

    public OutOfMemory(long requestedBytes, long freeBytes) {
      this(
          "cannot allocate %d bytes of device memory: %d are free"
              .formatted(requestedBytes, freeBytes),
          requestedBytes,
          freeBytes);
    }

    private OutOfMemory(String message, long requestedBytes, long freeBytes) {
      super(message);
      this.requestedBytes = requestedBytes;
      this.freeBytes = freeBytes;
    }

    /**
     * Host memory is exhausted. How much is free is unknown and reported as 0.
     *
     * @param reason the allocator's reason
     */
    public static OutOfMemory ofHost(long requestedBytes, String reason) {
      return new OutOfMemory(
          "cannot allocate %d bytes of host memory: %s".formatted(requestedBytes, reason),
          requestedBytes,
          0);
    }

    public long requestedBytes() {
      return requestedBytes;
    }

    public long freeBytes() {
      return freeBytes;
    }
  }

  /** A module could not be compiled or linked. */
  public static final class LoadFailed extends DeviceException {
    /**
     * @param kernel the kernel's name
     * @param log the compiler's log
     */
    public LoadFailed(String kernel, String log) {
      super("kernel " + kernel + " could not be loaded: " + log);
    }
  }

  /**
   * A kernel faulted, has undefined behavior, or was rejected at its launch. The device remains
   * usable. A fault on a GPU destroys its context: see {@link Lost}.
   */
  public static final class KernelFault extends DeviceException {
    private final List<String> reports;
    private final transient List<Report> findings;

    /**
     * @param kernel the kernel's name
     * @param reports one sentence per fault, with thread, block, instruction and source line
     */
    public KernelFault(String kernel, List<String> reports) {
      this(kernel, reports, List.of());
    }

    private KernelFault(String kernel, List<String> reports, List<Report> findings) {
      super("kernel " + kernel + " failed: " + String.join("; ", reports));
      this.reports = List.copyOf(reports);
      this.findings = List.copyOf(findings);
    }

    /**
     * Returns a fault with structured findings.
     *
     * @param kernel the kernel's name
     */
    public static KernelFault of(String kernel, List<Report> findings) {
      return new KernelFault(kernel, findings.stream().map(Report::toString).toList(), findings);
    }

    /** Returns one sentence per fault. */
    public List<String> reports() {
      return reports;
    }

    /** Returns the structured findings; empty if the device reports only sentences. */
    public List<Report> findings() {
      return findings;
    }
  }

  /** The device is lost, and its memory with it. */
  public static final class Lost extends DeviceException {
    public Lost(String message) {
      super(message);
    }
  }
}
