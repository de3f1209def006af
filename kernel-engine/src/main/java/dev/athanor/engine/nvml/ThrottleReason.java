package dev.athanor.engine.nvml;

/** A reason for reduced clocks of a GPU (NVML API reference, clocks event reasons). */
public enum ThrottleReason {
  IDLE(0x1),
  APPLICATION_CLOCKS(0x2),
  POWER_CAP(0x4),
  HARDWARE_SLOWDOWN(0x8),
  SYNC_BOOST(0x10),
  THERMAL(0x20),
  HARDWARE_THERMAL(0x40),
  HARDWARE_POWER_BRAKE(0x80),
  DISPLAY_CLOCKS(0x100);

  private final long bit;

  ThrottleReason(long bit) {
    this.bit = bit;
  }

  /** Returns whether a value of {@link Sensor#THROTTLE} contains this reason. */
  public boolean in(double reasons) {
    return ((long) reasons & bit) != 0;
  }
}
