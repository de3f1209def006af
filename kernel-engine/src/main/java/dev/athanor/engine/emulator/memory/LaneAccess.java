package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * Loads the lanes of a register from memory and stores them. Offsets are in bytes from the start of
 * a segment; {@code shift} is added to each.
 */
public abstract sealed class LaneAccess {

  public static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  public static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  public static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfDouble DOUBLE =
      ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** Loads the lanes {@code lo} to {@code hi - 1}, each from its own offset. */
  public abstract void load(MemorySegment from, long[] offsets, int shift, int lo, int hi);

  /** Stores the lanes {@code lo} to {@code hi - 1}, each at its own offset. */
  public abstract void store(MemorySegment to, long[] offsets, int shift, int lo, int hi);

  /** Loads lanes from memory that is an array of words, which is faster for some types. */
  public void loadWords(
      int[] words, MemorySegment from, long[] offsets, int shift, int lo, int hi) {
    load(from, offsets, shift, lo, hi);
  }

  /** Stores lanes to memory that is an array of words, which is faster for some types. */
  public void storeWords(int[] words, MemorySegment to, long[] offsets, int shift, int lo, int hi) {
    store(to, offsets, shift, lo, hi);
  }

  /** Loads one lane. */
  public abstract void load(MemorySegment from, long offset, int lane);

  /** Stores one lane. */
  public abstract void store(MemorySegment to, long offset, int lane);

  /**
   * Loads the lanes {@code lo} to {@code hi - 1} from consecutive elements of {@code size} bytes.
   */
  public void loadRun(MemorySegment from, long offset, int size, int lo, int hi) {
    for (int i = lo; i < hi; i++) {
      load(from, offset + (long) (i - lo) * size, i);
    }
  }

  /**
   * Stores the lanes {@code lo} to {@code hi - 1} to consecutive elements of {@code size} bytes.
   */
  public void storeRun(MemorySegment to, long offset, int size, int lo, int hi) {
    for (int i = lo; i < hi; i++) {
      store(to, offset + (long) (i - lo) * size, i);
    }
  }

  /**
   * Returns the access of a register to memory elements of a type.
   *
   * @throws IllegalArgumentException if the register has another width
   */
  public static LaneAccess of(Type type, Lanes register) {
    var storage = register.storage();
    int bits = type.bits();
    if (storage == RegisterStorage.INT && bits == 8) {
      return new Bytes(register.ints(), type.kind() == Type.Kind.SIGNED);
    } else if (storage == RegisterStorage.INT && bits == 16) {
      return new Shorts(register.ints());
    } else if (storage == RegisterStorage.INT && bits == 32) {
      return new Ints(register.ints());
    } else if (storage == RegisterStorage.FLOAT && bits == 32) {
      return new Floats(register.floats());
    } else if (storage == RegisterStorage.LONG && bits == 64) {
      return new Longs(register.longs());
    } else if (storage == RegisterStorage.DOUBLE && bits == 64) {
      return new Doubles(register.doubles());
    }
    throw new IllegalArgumentException(
        "a register of another width than ." + type.word() + " is moved");
  }

  private static final class Bytes extends LaneAccess {
    private final int[] lanes;
    private final boolean signed;

    Bytes(int[] lanes, boolean signed) {
      this.lanes = lanes;
      this.signed = signed;
    }

    @Override
    public void load(MemorySegment from, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        load(from, offsets[i] + shift, i);
      }
    }

    @Override
    public void store(MemorySegment to, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        store(to, offsets[i] + shift, i);
      }
    }

    /** The register has 16 bits, hence the sign is extended to 16 bits only. */
    @Override
    public void load(MemorySegment from, long offset, int lane) {
      int value = from.get(ValueLayout.JAVA_BYTE, offset);
      lanes[lane] = value & (signed ? 0xFFFF : 0xFF);
    }

    @Override
    public void store(MemorySegment to, long offset, int lane) {
      to.set(ValueLayout.JAVA_BYTE, offset, (byte) lanes[lane]);
    }
  }

  private static final class Shorts extends LaneAccess {
    private final int[] lanes;

    Shorts(int[] lanes) {
      this.lanes = lanes;
    }

    @Override
    public void load(MemorySegment from, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        lanes[i] = from.get(SHORT, offsets[i] + shift) & 0xFFFF;
      }
    }

    @Override
    public void store(MemorySegment to, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        to.set(SHORT, offsets[i] + shift, (short) lanes[i]);
      }
    }

    @Override
    public void load(MemorySegment from, long offset, int lane) {
      lanes[lane] = from.get(SHORT, offset) & 0xFFFF;
    }

    @Override
    public void store(MemorySegment to, long offset, int lane) {
      to.set(SHORT, offset, (short) lanes[lane]);
    }
  }

  private static final class Ints extends LaneAccess {
    private final int[] lanes;

    Ints(int[] lanes) {
      this.lanes = lanes;
    }

    @Override
    public void loadWords(
        int[] words, MemorySegment from, long[] offsets, int shift, int lo, int hi) {
      int distance = shift / Integer.BYTES;
      for (int i = lo; i < hi; i++) {
        lanes[i] = words[(int) (offsets[i] >>> 2) + distance];
      }
    }

    @Override
    public void storeWords(
        int[] words, MemorySegment to, long[] offsets, int shift, int lo, int hi) {
      int distance = shift / Integer.BYTES;
      for (int i = lo; i < hi; i++) {
        words[(int) (offsets[i] >>> 2) + distance] = lanes[i];
      }
    }

    @Override
    public void load(MemorySegment from, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        lanes[i] = from.get(INT, offsets[i] + shift);
      }
    }

    @Override
    public void store(MemorySegment to, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        to.set(INT, offsets[i] + shift, lanes[i]);
      }
    }

    @Override
    public void load(MemorySegment from, long offset, int lane) {
      lanes[lane] = from.get(INT, offset);
    }

    @Override
    public void store(MemorySegment to, long offset, int lane) {
      to.set(INT, offset, lanes[lane]);
    }

    @Override
    public void loadRun(MemorySegment from, long offset, int size, int lo, int hi) {
      MemorySegment.copy(from, INT, offset, lanes, lo, hi - lo);
    }

    @Override
    public void storeRun(MemorySegment to, long offset, int size, int lo, int hi) {
      MemorySegment.copy(lanes, lo, to, INT, offset, hi - lo);
    }
  }

  private static final class Floats extends LaneAccess {
    private final float[] lanes;

    Floats(float[] lanes) {
      this.lanes = lanes;
    }

    @Override
    public void loadWords(
        int[] words, MemorySegment from, long[] offsets, int shift, int lo, int hi) {
      int distance = shift / Integer.BYTES;
      for (int i = lo; i < hi; i++) {
        lanes[i] = Float.intBitsToFloat(words[(int) (offsets[i] >>> 2) + distance]);
      }
    }

    @Override
    public void storeWords(
        int[] words, MemorySegment to, long[] offsets, int shift, int lo, int hi) {
      int distance = shift / Integer.BYTES;
      for (int i = lo; i < hi; i++) {
        words[(int) (offsets[i] >>> 2) + distance] = Float.floatToRawIntBits(lanes[i]);
      }
    }

    @Override
    public void load(MemorySegment from, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        lanes[i] = from.get(FLOAT, offsets[i] + shift);
      }
    }

    @Override
    public void store(MemorySegment to, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        to.set(FLOAT, offsets[i] + shift, lanes[i]);
      }
    }

    @Override
    public void load(MemorySegment from, long offset, int lane) {
      lanes[lane] = from.get(FLOAT, offset);
    }

    @Override
    public void store(MemorySegment to, long offset, int lane) {
      to.set(FLOAT, offset, lanes[lane]);
    }

    @Override
    public void loadRun(MemorySegment from, long offset, int size, int lo, int hi) {
      MemorySegment.copy(from, FLOAT, offset, lanes, lo, hi - lo);
    }

    @Override
    public void storeRun(MemorySegment to, long offset, int size, int lo, int hi) {
      MemorySegment.copy(lanes, lo, to, FLOAT, offset, hi - lo);
    }
  }

  private static final class Longs extends LaneAccess {
    private final long[] lanes;

    Longs(long[] lanes) {
      this.lanes = lanes;
    }

    @Override
    public void load(MemorySegment from, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        lanes[i] = from.get(LONG, offsets[i] + shift);
      }
    }

    @Override
    public void store(MemorySegment to, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        to.set(LONG, offsets[i] + shift, lanes[i]);
      }
    }

    @Override
    public void load(MemorySegment from, long offset, int lane) {
      lanes[lane] = from.get(LONG, offset);
    }

    @Override
    public void store(MemorySegment to, long offset, int lane) {
      to.set(LONG, offset, lanes[lane]);
    }
  }

  private static final class Doubles extends LaneAccess {
    private final double[] lanes;

    Doubles(double[] lanes) {
      this.lanes = lanes;
    }

    @Override
    public void load(MemorySegment from, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        lanes[i] = from.get(DOUBLE, offsets[i] + shift);
      }
    }

    @Override
    public void store(MemorySegment to, long[] offsets, int shift, int lo, int hi) {
      for (int i = lo; i < hi; i++) {
        to.set(DOUBLE, offsets[i] + shift, lanes[i]);
      }
    }

    @Override
    public void load(MemorySegment from, long offset, int lane) {
      lanes[lane] = from.get(DOUBLE, offset);
    }

    @Override
    public void store(MemorySegment to, long offset, int lane) {
      to.set(DOUBLE, offset, lanes[lane]);
    }
  }
}
