package dev.athanor.engine.emulator.step;

import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import dev.athanor.engine.ptx.Statement.Instruction;
import org.jspecify.annotations.Nullable;

/** A decoded instruction of a worker. */
public final class BoundInstruction {

  /** How an instruction moves the threads that execute it. */
  public enum Kind {
    /** They go on. */
    STRAIGHT,
    BRANCH,
    EXIT,
    /** They wait for others of the warp, then go on. */
    COLLECTIVE,
    /** They wait for others of the block. */
    BARRIER,
    /** They wait until something has happened. */
    EVENT
  }

  /**
   * The operands of a barrier.
   *
   * @param threads how many threads it waits for; null = all
   * @param predicate what the threads combine; null = nothing
   * @param result where they learn of it
   */
  public record Barrier(
      BarrierKind kind,
      Lanes number,
      @Nullable Lanes threads,
      @Nullable Lanes predicate,
      @Nullable Lanes result) {}

  public final Kind kind;
  public final Instruction instruction;
  public final Step step;

  /** Where a branch goes on. */
  public final int target;

  /** The masks of the predicate; null = always. */
  public final int @Nullable [] guard;

  private final @Nullable Barrier barrier;
  private final int flip;

  /**
   * @param guard the register of the instruction's guard, if it has one
   * @param barrier the operands of a barrier
   */
  public BoundInstruction(
      Kind kind,
      Instruction instruction,
      Step step,
      int target,
      @Nullable Lanes guard,
      @Nullable Barrier barrier) {
    this.kind = kind;
    this.instruction = instruction;
    this.step = step;
    this.target = target;
    this.guard = guard == null ? null : guard.ints();
    this.flip = instruction.guard() != null && instruction.guard().negated() ? -1 : 0;
    this.barrier = barrier;
  }

  /** The operands of a barrier. */
  public Barrier barrier() {
    if (barrier == null) {
      throw new IllegalStateException(instruction + " is no barrier");
    }
    return barrier;
  }

  /** Those of some lanes of a warp for which the guard holds. */
  public int chosen(int warp, int mask) {
    return guard == null ? mask : mask & (guard[warp] ^ flip);
  }
}
