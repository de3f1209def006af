package dev.athanor.service.run;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.schedule.Scheduler.Phase;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether the device can be given work, and what its faults mean to a client. */
public final class DeviceHealth {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceHealth.class);
  private static final Duration RETRY_ELSEWHERE = Duration.ofSeconds(5);

  private volatile boolean tested;
  private volatile @Nullable Long lostAt;
  private volatile Phase phase = Phase.SERVING;

  /** Whether the device passed its test, answers, and takes new work. */
  public boolean isReady() {
    return tested && !isLost() && phase == Phase.SERVING;
  }

  /** Whether the device is gone for good. */
  public boolean isLost() {
    return lostAt != null;
  }

  /**
   * Whether this process can still be of use. Nothing brings a lost device back but a new process;
   * until that is due, clients learn what has become of their tensors.
   */
  public boolean isLive(Duration afterLoss) {
    var at = lostAt;
    return at == null || System.nanoTime() - at <= afterLoss.toNanos();
  }

  /** The self-test was passed. */
  void passed() {
    tested = true;
  }

  /** How far the service has gone towards its end. */
  void enter(Phase now) {
    phase = now;
  }

  /**
   * Lets work in.
   *
   * @throws Failure.Busy with {@code device-lost} or {@code draining}
   */
  public void admit() {
    if (isLost()) {
      throw deviceLost();
    }
    if (phase.compareTo(Phase.REFUSING) >= 0) {
      throw draining();
    }
  }

  static Failure deviceLost() {
    return new Failure.Busy(
        Code.DEVICE_LOST,
        "the device no longer answers, and the tensors it held are gone",
        RETRY_ELSEWHERE);
  }

  static Failure draining() {
    return new Failure.Busy(
        Code.DRAINING, "the service is shutting down and takes no new work", RETRY_ELSEWHERE);
  }

  /** What to tell a client of a fault; a lost device is remembered. */
  Failure explain(DeviceException fault) {
    return switch (fault) {
      case DeviceException.OutOfMemory e ->
          new Failure.OutOfDeviceMemory(e.requestedBytes(), e.freeBytes());
      case DeviceException.Lost e -> {
        if (!isLost()) {
          LOG.error("the device is lost", e);
          lostAt = System.nanoTime();
        }
        yield deviceLost();
      }
      case DeviceException.KernelFault e -> internal(e);
      case DeviceException.LoadFailed e -> internal(e);
      case DeviceException.Unavailable e -> internal(e);
    };
  }

  /** Logs a fault of ours under a new id. */
  public static Failure internal(RuntimeException fault) {
    var id = UUID.randomUUID().toString();
    LOG.error("failure {}", id, fault);
    return new Failure.Internal(id, fault);
  }
}
