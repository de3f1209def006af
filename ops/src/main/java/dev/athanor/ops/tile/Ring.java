package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * A ring buffer in shared memory, whose slots a producer fills while earlier ones are read. Either
 * all threads of the block participate in every step, or each warp has a ring of its own.
 */
public final class Ring {
  private final KernelBuilder k;
  private final Slots slots;
  private final Producer producer;
  private final Runnable barrier;
  private final Int.Variable full;
  private final Int.Variable free;

  /**
   * The slots of a ring.
   *
   * @param first offset of the first slot in shared memory, in bytes
   * @param bytes of a slot
   * @param count number of slots
   * @param apart distance between the steps of consecutive slots, in the unit of the producer
   */
  public record Slots(Int first, int bytes, int count, int apart) {

    /**
     * Starts to fill all slots but one, before the first is read.
     *
     * @param from first step
     */
    public void fillAhead(Producer producer, Int from) {
      for (int slot = 0; slot < ahead(); slot++) {
        producer.fill(first.plus(slot * bytes), from.plus(slot * apart)).run();
      }
    }

    private int ahead() {
      return count - 1;
    }
  }

  /**
   * Declares the offsets of a ring whose slots are {@linkplain Slots#fillAhead filled ahead}.
   *
   * @param producer fills a slot and commits its copies
   * @param barrier of the threads that share the ring
   */
  public Ring(KernelBuilder k, Slots slots, Producer producer, Runnable barrier) {
    this.k = k;
    this.slots = slots;
    this.producer = producer;
    this.barrier = barrier;
    full = k.variable(slots.first);
    free = k.variable(slots.first.plus(slots.ahead() * slots.bytes));
  }

  /** Returns the offset of the slot that is read. */
  public Int full() {
    return full;
  }

  /** Waits until the slot to read has arrived for all threads. */
  void await() {
    await(slots.ahead() - 1);
  }

  /**
   * Starts to fill the free slot, which all threads have read.
   *
   * @param current step of the slot that is read
   * @return see {@link Producer#fill}
   */
  Runnable fill(Int current) {
    return producer.fill(free, current.plus(slots.ahead() * slots.apart));
  }

  /** Waits for the slot of a step and starts to fill the slot of the step before it. */
  public void begin(Int step) {
    await();
    fill(step).run();
  }

  /** Releases the slot that was read. */
  public void advance() {
    free.set(full);
    full.set(next(full));
  }

  /**
   * Releases the slot that was read like {@link #advance}, but advances both offsets instead of
   * moving one to the other. Which of the two takes fewer registers depends on the kernel.
   */
  public void advanceBoth() {
    full.set(next(full));
    free.set(next(free));
  }

  private Int next(Int offset) {
    var next = offset.plus(slots.bytes);
    return slots.first.where(next.eq(slots.first.plus(slots.count * slots.bytes)), next);
  }

  /**
   * Waits for the next slot and starts to fill the one before this slot, while warpgroups still
   * read this slot.
   *
   * @param current step of this slot, which all warps have begun to read
   */
  void advanceAhead(Int current) {
    await(slots.ahead() - 2);
    fill(current).run();
    advance();
  }

  /**
   * Waits for slots in flight.
   *
   * @param pending number of the newest slots to leave in flight
   */
  private void await(int pending) {
    k.awaitCopies(pending);
    barrier.run();
  }
}
