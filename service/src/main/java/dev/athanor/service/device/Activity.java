package dev.athanor.service.device;

import java.time.Duration;

/** Work on a device that may hang, monitored by {@link DeviceHealth#overdue}. */
public final class Activity {
  private final int device;
  private final String name;

  /** When the current work began; 0 while idle. */
  private volatile long since;

  /**
   * @param name the name in log messages, such as {@code stream 2}
   */
  Activity(int device, String name) {
    this.device = device;
    this.name = name;
  }

  public int device() {
    return device;
  }

  public String name() {
    return name;
  }

  public void begin() {
    since = System.nanoTime() | 1; // never 0
  }

  public void end() {
    since = 0;
  }

  boolean isActive() {
    return since != 0;
  }

  /** Whether the current work has run for longer than {@code limit}. */
  public boolean isOverdue(Duration limit) {
    long began = since;
    return began != 0 && System.nanoTime() - began > limit.toNanos();
  }
}
