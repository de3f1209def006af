package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import dev.athanor.engine.ptx.Semantics.FenceKind;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.vulkan.flow.Exchange;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import org.jspecify.annotations.Nullable;

/** Writes the instructions of basic blocks. */
final class Instructions {

  private final Frame frame;
  private final Code code;
  private final Memory memory;
  private final Computation computation;
  private final Atomics atomics;
  private final Lanes lanes;
  private final Matrices matrices;

  Instructions(Frame frame, Memory memory, Lanes lanes, Matrices matrices) {
    this.frame = frame;
    this.code = frame.code;
    this.memory = memory;
    this.lanes = lanes;
    this.matrices = matrices;
    this.computation = new Computation(frame);
    this.atomics = new Atomics(frame, memory);
  }

  /** Returns whether all threads of the block execute an instruction together. */
  static boolean isForBlock(Instruction instruction, boolean subgroups) {
    return Exchange.isCollective(instruction)
        && (!subgroups || instruction.form().semantics() instanceof Semantics.Barrier);
  }

  Value condition(Guard guard) {
    var predicate = frame.load(guard.predicate());
    return guard.negated() ? code.not(predicate) : predicate;
  }

  /** Writes an instruction that is not for the whole block. */
  void write(Instruction instruction) {
    var guard = instruction.guard();
    if (guard == null) {
      unguarded(instruction);
    } else {
      code.onlyIf(condition(guard), () -> unguarded(instruction));
    }
  }

  private void unguarded(Instruction instruction) {
    if (matrices.include(instruction)) {
      matrices.write(instruction);
    } else if (Exchange.isCollective(instruction)) {
      collective(instruction, null);
    } else {
      single(instruction);
    }
  }

  /** Writes an instruction that all threads of the block execute, though it counts for some. */
  void writeForBlock(Instruction instruction, @Nullable Value active) {
    var guard = instruction.guard();
    var condition = active;
    if (guard != null) {
      condition = active == null ? condition(guard) : code.and(active, condition(guard));
    }
    collective(instruction, condition);
  }

  private void collective(Instruction i, @Nullable Value condition) {
    switch (i.form().semantics()) {
      case Semantics.Warp warp -> lanes.warp(i, warp.kind(), condition);
      case Semantics.Converged _ -> lanes.converged(i, condition);
      case Semantics.WarpBarrier _ -> lanes.warpBarrier();
      case Semantics.Barrier(BarrierKind kind, _) -> lanes.barrier(i, kind, condition);
      default -> throw new IllegalArgumentException(i + " is for single threads");
    }
  }

  private void single(Instruction i) {
    switch (i.form().semantics()) {
      case Semantics.Pure pure -> computation.compute(i, pure);
      case Semantics.Load _ when Atomics.isOrdered(i) -> atomics.load(i);
      case Semantics.Load _ -> memory.load(i);
      case Semantics.Store _ when Atomics.isOrdered(i) -> atomics.store(i);
      case Semantics.Store _ -> memory.store(i);
      case Semantics.Atomic atomic -> atomics.update(i, atomic.returnsOld());
      case Semantics.Fence(FenceKind kind) -> {
        if (kind != FenceKind.MEMORY) {
          throw new UnsupportedKernelException("it has " + i.opcode());
        }
        int scope = i.modifiers().has("cta") ? Spirv.WORKGROUP_SCOPE : Spirv.DEVICE_SCOPE;
        code.effect(Spirv.MEMORY_BARRIER, code.module.word(scope), code.module.ordered());
      }
      // launches run one after the other
      case Semantics.AwaitPreviousGrid _, Semantics.LaunchDependents _, Semantics.NoEffect _ -> {}
      case Semantics.Call _, Semantics.RuntimeCall _, Semantics.IndexedBranch _ ->
          throw new UnsupportedKernelException(
              "it has %s; shaders have no calls of device functions and no indirect branches"
                  .formatted(i.opcode()));
      default ->
          throw new UnsupportedKernelException(
              "it has %s, which has no translation to SPIR-V".formatted(i.opcode()));
    }
  }
}
