package dev.athanor.service.device;

import java.time.Duration;

/** Work on a device that may never end, watched by {@link DeviceHealth#overdue}. */
public final class Activity {
  private final int device;
  private final String name;

  /** When it began; 0 while there is none. */
  private volatile long since;

  /**
   * @param name as it stands in a log: {@code stream 2}
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
    since = System.nanoTime() | 1; // which is never 0
  }

  public void end() {
    since = 0;
  }

  boolean isUnderWay() {
    return since != 0;
  }

  public boolean isOverdue(Duration limit) {
    long began = since;
    return began != 0 && System.nanoTime() - began > limit.toNanos();
  }
}
