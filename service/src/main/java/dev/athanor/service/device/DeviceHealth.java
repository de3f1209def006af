package dev.athanor.service.device;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.schedule.Scheduler.Phase;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The health of all devices: readiness, liveness, admission, and translation of device faults into
 * failures.
 */
public final class DeviceHealth {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceHealth.class);

  private final List<String> devices;

  /** When devices were lost, as {@link System#nanoTime()}, by device number. */
  private final Map<Integer, Long> lostAt = new ConcurrentHashMap<>();

  private final List<Activity> activities = new CopyOnWriteArrayList<>();

  private volatile boolean tested;
  private volatile Phase phase = Phase.SERVING;

  /**
   * @param devices the ids of the devices
   */
  public DeviceHealth(List<String> devices) {
    this.devices = List.copyOf(devices);
  }

  /**
   * Whether the service is ready: all devices passed the self-test, none is lost, and new work is
   * accepted. If one of several devices is lost, the others still serve requests, but the service
   * reports that it is not ready, since only a restart recovers the device.
   */
  public boolean isReady() {
    return tested && lostAt.isEmpty() && phase == Phase.SERVING;
  }

  /** Whether a device is lost until the process restarts. */
  public boolean isLost(int device) {
    return lostAt.containsKey(device);
  }

  /** Whether all devices are lost. */
  public boolean isLost() {
    return lostAt.size() == devices.size();
  }

  /**
   * Whether the process is live. A lost device requires a restart; until {@code afterLoss} has
   * passed, the process stays live so that clients receive the error {@code device-lost}.
   */
  public boolean isLive(Duration afterLoss) {
    long now = System.nanoTime();
    return lostAt.values().stream().allMatch(at -> now - at <= afterLoss.toNanos());
  }

  /**
   * Registers work of a device for hang detection.
   *
   * @param name the name in log messages, such as {@code stream 2}
   */
  public Activity watch(int device, String name) {
    var activity = new Activity(device, name);
    activities.add(activity);
    return activity;
  }

  /** Returns the work on devices that are not lost that has run for longer than {@code limit}. */
  public List<Activity> overdue(Duration limit) {
    return activities.stream()
        .filter(each -> each.isOverdue(limit) && !isLost(each.device()))
        .toList();
  }

  /** Whether a device is busy. */
  public boolean isBusy(int device) {
    return activities.stream().anyMatch(each -> each.device() == device && each.isActive());
  }

  /** Records that the self-test passed. */
  public void passed() {
    tested = true;
  }

  /** Sets the phase of the shutdown. */
  public void enter(Phase now) {
    phase = now;
  }

  /**
   * Admits work or rejects it.
   *
   * @throws Failure.Busy with {@code device-lost} if all devices are lost, or with {@code draining}
   */
  public void admit() {
    if (isLost()) {
      throw Failure.Busy.deviceLost();
    }
    if (phase.compareTo(Phase.REFUSING) >= 0) {
      throw Failure.Busy.draining();
    }
  }

  /**
   * Admits work for one device or rejects it.
   *
   * @throws Failure.Busy with {@code device-lost} if the device is lost, or with {@code draining}
   */
  public void admit(int device) {
    if (isLost(device)) {
      throw Failure.Busy.deviceLost();
    }
    admit();
  }

  /** Translates a device fault into a failure for the client, and marks a lost device. */
  public Failure explain(int device, DeviceException fault) {
    return switch (fault) {
      case DeviceException.OutOfMemory e ->
          new Failure.OutOfDeviceMemory(e.requestedBytes(), e.freeBytes());
      case DeviceException.Lost e -> {
        if (lostAt.putIfAbsent(device, System.nanoTime()) == null) {
          LOG.error("Device {} is lost", devices.get(device), e);
        }
        yield Failure.Busy.deviceLost();
      }
      case DeviceException.KernelFault e -> internal(e);
      case DeviceException.LoadFailed e -> internal(e);
      case DeviceException.Unavailable e -> internal(e);
    };
  }

  /** Logs an internal fault under a new id and returns the failure for the client. */
  public static Failure internal(RuntimeException fault) {
    var id = UUID.randomUUID().toString();
    LOG.error("Internal failure {}", id, fault);
    return new Failure.Internal(id, fault);
  }
}
