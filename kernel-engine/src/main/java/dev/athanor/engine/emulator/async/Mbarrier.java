package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import dev.athanor.engine.ptx.meaning.MbarrierState;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * A barrier in shared memory (PTX ISA 9.7.13.15). A phase completes once the expected arrivals and
 * all announced bytes have come; then the next phase begins. Operations return a description of a
 * violated rule, or null.
 */
public final class Mbarrier implements ObservedMbarrier {

  private final Block block;
  private final PendingOperations operations;
  private final long offset;

  /** Pending operations that will signal this barrier. */
  private final Deque<PendingOperation> signals = new ArrayDeque<>();

  private long phase;
  private int expected;
  private int pending;
  private int bytes;
  private long announced;
  private long come;

  /**
   * @param offset the offset in the shared memory of the block
   */
  Mbarrier(Block block, PendingOperations operations, long offset, int count) {
    this.block = block;
    this.operations = operations;
    this.offset = offset;
    this.expected = count;
    this.pending = count;
    store();
  }

  /** Returns its 8 bytes, as a thread would read them. */
  long state() {
    return MbarrierState.of(phase, expected, pending, bytes);
  }

  long phase() {
    return phase;
  }

  /** Returns whether its bytes are unchanged by other stores. */
  boolean isIntact() {
    return block.shared.get(LaneAccess.LONG, offset) == state();
  }

  private void store() {
    block.shared.set(LaneAccess.LONG, offset, state());
  }

  /** Registers a pending operation that will signal this barrier. */
  void addSignal(PendingOperation ticket) {
    PendingOperations.forgetDone(signals);
    signals.add(ticket);
  }

  @Override
  public boolean hasPendingSignal() {
    return signals.stream().anyMatch(ticket -> !ticket.isDone());
  }

  /**
   * Completes one of the pending operations that signal this barrier; returns whether there was
   * one.
   */
  boolean finishOne() {
    return operations.finishOne(signals);
  }

  @Nullable String arrive(int count, boolean mayComplete) {
    if (count < 1) {
      return "an arrival counts at least once, got " + count;
    }
    if (count > pending) {
      return "%d arrivals at %s".formatted(count, this);
    }
    if (!mayComplete && count == pending) {
      return ".noComplete arrivals complete the phase of %s".formatted(this);
    }
    pending -= count;
    settle();
    return null;
  }

  /** Arrives, and is not expected in later phases. */
  @Nullable String drop(int count, boolean mayComplete) {
    if (count > expected) {
      return "%d arrivals are dropped from %s".formatted(count, this);
    }
    expected -= count;
    return arrive(count, mayComplete);
  }

  /** Expects one more arrival in this phase. */
  @Nullable String await() {
    if (pending == MbarrierState.MAX_ARRIVALS) {
      return "one more arrival than can be counted at %s".formatted(this);
    }
    pending++;
    store();
    return null;
  }

  /** Announces bytes. */
  @Nullable String expect(long count) {
    announced += count;
    return add(count);
  }

  /** Records the completion of bytes. */
  @Nullable String complete(long count) {
    come += count;
    return add(-count);
  }

  private @Nullable String add(long count) {
    long sum = bytes + count;
    if (Math.abs(sum) > MbarrierState.MAX_TRANSACTION_BYTES) {
      return "%d bytes are pending; the maximum is %d, at %s"
          .formatted(sum, MbarrierState.MAX_TRANSACTION_BYTES, this);
    }
    bytes = (int) sum;
    settle();
    return null;
  }

  /** Begins the next phase if this one is complete. */
  private void settle() {
    if (pending == 0 && bytes == 0) {
      phase++;
      pending = expected;
      announced = 0;
      come = 0;
      if (block.asyncObserver != null) {
        block.asyncObserver.completes(this, phase);
      }
    }
    store();
    block.progress();
  }

  @Override
  public int missingBytes() {
    return bytes;
  }

  /** Returns whether all arrivals have come and only bytes are missing. */
  boolean lacksBytesOnly() {
    return pending == 0 && bytes != 0;
  }

  @Override
  public String name() {
    return "the mbarrier at " + offset;
  }

  /**
   * Returns a description of the phase: arrivals and bytes that have come and that are expected.
   */
  @Override
  public String toString() {
    return "the mbarrier at %d in phase %d, to which %d of %d arrivals and %d of %d bytes have come"
        .formatted(offset, phase, expected - pending, expected, come, announced);
  }
}
