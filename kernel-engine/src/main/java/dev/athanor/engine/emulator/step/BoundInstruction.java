package dev.athanor.engine.emulator.step;

import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import dev.athanor.engine.ptx.Statement.Instruction;
import org.jspecify.annotations.Nullable;

/** A decoded instruction, bound to the registers of a block. */
public final class BoundInstruction {

  /** The effects of instructions on the control flow of their threads. */
  public enum Kind {
    /** They continue with the next instruction. */
    STRAIGHT,
    BRANCH,
    EXIT,
    /** They wait for other threads of the warp. */
    COLLECTIVE,
    /** They wait for other threads of the block. */
    BARRIER,
    /** They wait for an event. */
    EVENT
  }

  /**
   * The operands of a barrier.
   *
   * @param threads the number of threads expected; null = all
   * @param predicate the predicate to reduce; null = none
   * @param result receives the reduced predicate
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

  /** The index of the branch target. */
  public final int target;

  /** The masks of the guard predicate; null = unconditional. */
  public final int @Nullable [] guard;

  private final @Nullable Barrier barrier;
  private final int flip;

  /**
   * @param guard the register of the guard, if there is one
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

  /** Returns the operands of a barrier. */
  public Barrier barrier() {
    if (barrier == null) {
      throw new IllegalStateException(instruction + " is not a barrier");
    }
    return barrier;
  }

  /** Returns the lanes of a mask for which the guard holds. */
  public int chosen(int warp, int mask) {
    return guard == null ? mask : mask & (guard[warp] ^ flip);
  }
}
