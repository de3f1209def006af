package dev.athanor.engine.device;

import java.util.List;

/**
 * What can go wrong on a device. Each case is a class; nothing else is thrown for a fault of the
 * device.
 */
public abstract sealed class DeviceException extends RuntimeException {
  private DeviceException(String message) {
    super(message);
  }

  /** There is no such device here. The message is one sentence that says why. */
  public static final class Unavailable extends DeviceException {
    public Unavailable(String message) {
      super(message);
    }
  }

  /** An allocation did not fit. */
  public static final class OutOfMemory extends DeviceException {
    private final long requestedBytes;
    private final long freeBytes;

    public OutOfMemory(long requestedBytes, long freeBytes) {
      this(
          "%d bytes of device memory were asked for, %d are free"
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
     * It was memory of the host, of which nobody knows how much is free: 0 bytes, so to say.
     *
     * @param reason why there is none, as whoever was asked says it
     */
    public static OutOfMemory ofHost(long requestedBytes, String reason) {
      return new OutOfMemory(
          "%d bytes of host memory were asked for, which are not to be had: %s"
              .formatted(requestedBytes, reason),
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
     * @param log what the compiler said
     */
    public LoadFailed(String kernel, String log) {
      super("kernel " + kernel + " could not be loaded: " + log);
    }
  }

  /**
   * A kernel did something that a GPU leaves undefined or stops at. The device is still good where
   * it is the emulator; a GPU's context is lost, which is {@link Lost}.
   */
  public static final class KernelFault extends DeviceException {
    private final List<String> reports;
    private final transient List<Report> findings;

    /**
     * @param kernel the kernel's name
     * @param reports one sentence a fault, with thread, block, instruction and source line
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
     * A fault of which more is known than a sentence.
     *
     * @param kernel the kernel's name
     */
    public static KernelFault of(String kernel, List<Report> findings) {
      return new KernelFault(kernel, findings.stream().map(Report::toString).toList(), findings);
    }

    /** One sentence a fault. */
    public List<String> reports() {
      return reports;
    }

    /** What is known of each fault; none where the device only says that there was one. */
    public List<Report> findings() {
      return findings;
    }
  }

  /** The device no longer answers; what it held is gone. */
  public static final class Lost extends DeviceException {
    public Lost(String message) {
      super(message);
    }
  }
}
