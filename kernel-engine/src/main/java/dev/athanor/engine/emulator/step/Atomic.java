package dev.athanor.engine.emulator.step;

import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Semantics.AtomicFunction;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * {@code atom} and {@code red}: the lanes of a warp perform their updates one after another, lane 0
 * first.
 */
public final class Atomic implements Step {

  private static final VarHandle INT =
      ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();
  private static final VarHandle LONG =
      ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();

  private final Block block;
  private final Addresses addresses;
  private final AtomicFunction function;
  private final List<Lanes> results;
  private final List<Lanes> operands;
  private final @Nullable Lanes other;
  private final int size;
  private final MemoryRequest touch;

  /**
   * @param results receive the old values, an element each; empty for {@code red}
   * @param operands an element each
   * @param other the new value of a compare-and-swap; null = none
   * @param size bytes of an element
   */
  public Atomic(
      Block block,
      Instruction instruction,
      Addresses addresses,
      AtomicFunction function,
      List<Lanes> results,
      List<Lanes> operands,
      @Nullable Lanes other,
      int size) {
    this.block = block;
    this.addresses = addresses;
    this.function = function;
    this.results = results;
    this.operands = operands;
    this.other = other;
    this.size = size;
    this.touch = new MemoryRequest(instruction, MemoryRequest.Kind.ATOMIC);
  }

  @Override
  public void execute(int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      if (block.active[warp] != 0) {
        execute(warp, block.active[warp]);
      }
    }
  }

  private void execute(int warp, int mask) {
    addresses.resolve(warp, mask, size * operands.size(), touch);
    touch.unwritten = 0;
    try {
      block.observe(touch);
      update(warp, mask);
    } finally {
      block.observed(touch);
    }
  }

  private void update(int warp, int mask) {
    for (int left = mask; left != 0; left &= left - 1) {
      int in = Integer.numberOfTrailingZeros(left);
      int lane = Warps.thread(warp, in);
      var memory = touch.memory(in);
      boolean global = memory.space() == Space.GLOBAL;
      long c = other == null ? 0 : bits(other, lane);
      for (int i = 0; i < operands.size(); i++) {
        long at = touch.offsets[in] + (long) i * size;
        long b = bits(operands.get(i), lane);
        long old =
            update(block, memory.segment(), at, size, was -> function.apply(was, b, c, global));
        if (other != null && old != b) {
          touch.unwritten |= 1 << in;
        }
        if (!results.isEmpty()) {
          results.get(i).set(lane, old);
        }
      }
    }
  }

  private long bits(Lanes register, int lane) {
    long bits = register.bits(lane);
    return size == 8 ? bits : bits & ((1L << (8 * size)) - 1);
  }

  /** Replaces a value by a function of itself and returns the old value. */
  public static long update(
      Block block, MemorySegment segment, long at, int size, LongUnaryOperator function) {
    if (size == Long.BYTES && !segment.isNative()) {
      // only one worker accesses shared memory, which is an array of 32-bit words
      long old = segment.get(LaneAccess.LONG, at);
      long fresh = function.applyAsLong(old);
      if (old != fresh) {
        segment.set(LaneAccess.LONG, at, fresh);
        block.stored();
      }
      return old;
    }
    if (size == Long.BYTES) {
      while (true) {
        long old = (long) LONG.getVolatile(segment, at);
        long fresh = function.applyAsLong(old);
        if (old == fresh) {
          return old;
        }
        if (LONG.compareAndSet(segment, at, old, fresh)) {
          block.stored();
          return old;
        }
      }
    }
    // a 16-bit value is half of an aligned word
    long word = at & -4L;
    int shift = (int) (at - word) * 8;
    int mask = size == Integer.BYTES ? -1 : 0xFFFF << shift;
    while (true) {
      int whole = (int) INT.getVolatile(segment, word);
      long old = ((whole & mask) >>> shift) & 0xFFFF_FFFFL;
      int fresh = (int) (function.applyAsLong(old) << shift) & mask;
      if (fresh == (whole & mask)) {
        return old;
      }
      if (INT.compareAndSet(segment, word, whole, (whole & ~mask) | fresh)) {
        block.stored();
        return old;
      }
    }
  }
}
