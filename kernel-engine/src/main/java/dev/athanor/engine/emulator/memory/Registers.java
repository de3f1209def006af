package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.SpecialRegister;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The registers of a block: one array per register, padded to whole warps. */
public final class Registers {

  /** The value of registers before they are written: a NaN, so that its use shows. */
  public static final int POISON = 0xFFC0_DEAD;

  /** The array of a register. */
  public record Lanes(RegisterStorage storage, Object array) {
    public int[] ints() {
      return (int[]) array;
    }

    public long[] longs() {
      return (long[]) array;
    }

    public float[] floats() {
      return (float[]) array;
    }

    public double[] doubles() {
      return (double[]) array;
    }

    /** The bits of a lane, zero-extended. */
    public long bits(int lane) {
      return switch (storage) {
        case MASK -> (ints()[lane >> 5] >>> lane) & 1;
        case INT -> ints()[lane] & 0xFFFF_FFFFL;
        case LONG -> longs()[lane];
        case FLOAT -> Float.floatToRawIntBits(floats()[lane]) & 0xFFFF_FFFFL;
        case DOUBLE -> Double.doubleToRawLongBits(doubles()[lane]);
      };
    }

    /** Sets the bits of a lane. */
    public void set(int lane, long bits) {
      switch (storage) {
        case MASK -> {
          int bit = 1 << lane;
          ints()[lane >> 5] = bits == 0 ? ints()[lane >> 5] & ~bit : ints()[lane >> 5] | bit;
        }
        case INT -> ints()[lane] = (int) bits;
        case LONG -> longs()[lane] = bits;
        case FLOAT -> floats()[lane] = Float.intBitsToFloat((int) bits);
        case DOUBLE -> doubles()[lane] = Double.longBitsToDouble(bits);
      }
    }
  }

  private final int warps;
  private final Map<Operand.Register, Lanes> arrays = new HashMap<>();
  private final Map<SpecialRegister, Lanes> special = new EnumMap<>(SpecialRegister.class);

  public Registers(Collection<Operand.Register> all, Set<SpecialRegister> specials, int warps) {
    this.warps = warps;
    for (var register : all) {
      arrays.put(register, lanes(RegisterStorage.of(register.registerClass())));
    }
    specials.forEach(register ->
        special.put(register, lanes(RegisterStorage.of(register.type().registerClass()))));
  }

  public int warps() {
    return warps;
  }

  public Lanes of(Operand.Register register) {
    var lanes = arrays.get(register);
    if (lanes == null) {
      throw new IllegalArgumentException("no register " + register);
    }
    return lanes;
  }

  public Lanes of(SpecialRegister register) {
    var lanes = special.get(register);
    if (lanes == null) {
      throw new IllegalArgumentException("no register " + register);
    }
    return lanes;
  }

  /** The special registers that the kernel reads. */
  public Map<SpecialRegister, Lanes> special() {
    return special;
  }

  /** Creates a register with the same value in all lanes. */
  public Lanes constant(RegisterStorage storage, Object value) {
    var lanes = lanes(storage);
    switch (storage) {
      case MASK -> Arrays.fill(lanes.ints(), (Boolean) value ? -1 : 0);
      case INT -> Arrays.fill(lanes.ints(), (Integer) value);
      case LONG -> Arrays.fill(lanes.longs(), (Long) value);
      case FLOAT -> Arrays.fill(lanes.floats(), (Float) value);
      case DOUBLE -> Arrays.fill(lanes.doubles(), (Double) value);
    }
    return lanes;
  }

  /** Resets all registers to the poison value before the next block. */
  public void poison() {
    for (var lanes : arrays.values()) {
      switch (lanes.storage()) {
        case MASK -> Arrays.fill(lanes.ints(), 0);
        case INT -> Arrays.fill(lanes.ints(), POISON);
        case LONG -> Arrays.fill(lanes.longs(), POISON * 0x1_0000_0001L);
        case FLOAT -> Arrays.fill(lanes.floats(), Float.intBitsToFloat(POISON));
        case DOUBLE -> Arrays.fill(lanes.doubles(), Double.NaN);
      }
    }
  }

  private Lanes lanes(RegisterStorage storage) {
    int lanes = warps * 32;
    return new Lanes(
        storage,
        switch (storage) {
          case MASK -> new int[warps];
          case INT -> new int[lanes];
          case LONG -> new long[lanes];
          case FLOAT -> new float[lanes];
          case DOUBLE -> new double[lanes];
        });
  }
}
