package dev.athanor.engine.nvml;

/** Why a GPU's clocks are lower than they could be (NVML API reference, clocks event reasons). */
public enum Throttle {
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

  Throttle(long bit) {
    this.bit = bit;
  }

  /** Whether it is among the reasons that {@link Sensor#THROTTLE} has. */
  public boolean in(double reasons) {
    return ((long) reasons & bit) != 0;
  }
}
