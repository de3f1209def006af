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

/** Whether the devices can be given work, and what their faults mean to a client. */
public final class DeviceHealth {

  private static final Logger LOG = LoggerFactory.getLogger(DeviceHealth.class);

  private final List<String> devices;

  /** When devices were lost, on the clock of {@link System#nanoTime()}. */
  private final Map<Integer, Long> lostAt = new ConcurrentHashMap<>();

  private final List<Activity> activities = new CopyOnWriteArrayList<>();

  private volatile boolean tested;
  private volatile Phase phase = Phase.SERVING;

  /**
   * @param devices their ids
   */
  public DeviceHealth(List<String> devices) {
    this.devices = List.copyOf(devices);
  }

  /**
   * Whether all devices passed their test and answer, and new work is taken in. With one of several
   * devices lost the others serve what is sent to them, but it had better be sent elsewhere: only a
   * new process has all of them again.
   */
  public boolean isReady() {
    return tested && lostAt.isEmpty() && phase == Phase.SERVING;
  }

  /** Whether a device is gone for good. */
  public boolean isLost(int device) {
    return lostAt.containsKey(device);
  }

  /** Whether no device is left. */
  public boolean isLost() {
    return lostAt.size() == devices.size();
  }

  /**
   * Whether this process can still be of use. Nothing brings a lost device back but a new process;
   * until that is due, clients learn what has become of their tensors.
   */
  public boolean isLive(Duration afterLoss) {
    long now = System.nanoTime();
    return lostAt.values().stream().allMatch(at -> now - at <= afterLoss.toNanos());
  }

  /**
   * Watches work of a device.
   *
   * @param name as it stands in a log: {@code stream 2}
   */
  public Activity watch(int device, String name) {
    var activity = new Activity(device, name);
    activities.add(activity);
    return activity;
  }

  /** The work that has been under way for longer than a limit on devices that are not lost. */
  public List<Activity> overdue(Duration limit) {
    return activities.stream()
        .filter(each -> each.isOverdue(limit) && !isLost(each.device()))
        .toList();
  }

  /** Whether any work of a device is under way. */
  public boolean isAtWork(int device) {
    return activities.stream().anyMatch(each -> each.device() == device && each.isUnderWay());
  }

  /** The self-test was passed. */
  public void passed() {
    tested = true;
  }

  /** How far the service has gone towards its end. */
  public void enter(Phase now) {
    phase = now;
  }

  /**
   * Lets work in.
   *
   * @throws Failure.Busy with {@code device-lost} when no device is left, or {@code draining}
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
   * Lets work in for one device.
   *
   * @throws Failure.Busy with {@code device-lost} when the device is lost, or {@code draining}
   */
  public void admit(int device) {
    if (isLost(device)) {
      throw Failure.Busy.deviceLost();
    }
    admit();
  }

  /** What to tell a client of a fault of a device; one that is lost is remembered. */
  public Failure explain(int device, DeviceException fault) {
    return switch (fault) {
      case DeviceException.OutOfMemory e ->
          new Failure.OutOfDeviceMemory(e.requestedBytes(), e.freeBytes());
      case DeviceException.Lost e -> {
        if (lostAt.putIfAbsent(device, System.nanoTime()) == null) {
          LOG.error("{} is lost", devices.get(device), e);
        }
        yield Failure.Busy.deviceLost();
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
