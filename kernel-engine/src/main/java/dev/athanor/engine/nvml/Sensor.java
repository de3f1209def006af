package dev.athanor.engine.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/**
 * A sensor of a GPU: its NVML function, the arguments between device and result, and the value's
 * offset in the result (NVML API reference, device queries).
 */
public enum Sensor {
  POWER_WATTS("nvmlDeviceGetPowerUsage", Width.INT, 0, 1e-3),
  POWER_LIMIT_WATTS("nvmlDeviceGetEnforcedPowerLimit", Width.INT, 0, 1e-3),
  /** Fraction of time in which a kernel ran, 0 to 1. */
  UTILIZATION("nvmlDeviceGetUtilizationRates", Width.INT, 0, 1e-2),
  MEMORY_TOTAL_BYTES("nvmlDeviceGetMemoryInfo", Width.LONG, 0, 1),
  /** Used by all processes. */
  MEMORY_USED_BYTES("nvmlDeviceGetMemoryInfo", Width.LONG, 16, 1),
  TEMPERATURE_CELSIUS("nvmlDeviceGetTemperature", Width.INT, 0, 1, 0),
  /** Since the driver was loaded. */
  ENERGY_JOULES("nvmlDeviceGetTotalEnergyConsumption", Width.LONG, 0, 1e-3),
  SM_CLOCK_HERTZ("nvmlDeviceGetClockInfo", Width.INT, 0, 1e6, 1),
  /** Since the driver was loaded, like the next. */
  ECC_CORRECTED("nvmlDeviceGetTotalEccErrors", Width.LONG, 0, 1, 0, 0),
  ECC_UNCORRECTED("nvmlDeviceGetTotalEccErrors", Width.LONG, 0, 1, 1, 0),
  /** Bits of {@link ThrottleReason}. */
  THROTTLE("nvmlDeviceGetCurrentClocksThrottleReasons", Width.LONG, 0, 1);

  private enum Width {
    INT,
    LONG
  }

  /** Size of the largest result, {@code nvmlMemory_t}. */
  static final long RESULT_BYTES = 24;

  private final String function;
  private final Width width;
  private final long offset;
  private final double unit;
  private final int arguments;
  private final int first;
  private final int second;

  Sensor(String function, Width width, long offset, double unit, int... arguments) {
    this.function = function;
    this.width = width;
    this.offset = offset;
    this.unit = unit;
    this.arguments = arguments.length;
    first = arguments.length > 0 ? arguments[0] : 0;
    second = arguments.length > 1 ? arguments[1] : 0;
  }

  String function() {
    return function;
  }

  /** Returns the number of arguments between device and result. */
  int arguments() {
    return arguments;
  }

  int argument(int index) {
    return index == 0 ? first : second;
  }

  double value(MemorySegment result) {
    return unit
        * switch (width) {
          case INT -> Integer.toUnsignedLong(result.get(JAVA_INT, offset));
          case LONG -> (double) result.get(JAVA_LONG, offset);
        };
  }
}
