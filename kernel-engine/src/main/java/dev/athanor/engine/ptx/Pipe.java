package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Semantics.Pure;

/**
 * The part of a multiprocessor that executes an instruction. How many lanes of each pipe a
 * multiprocessor serves in a cycle depends on the device (CUDA programming guide, arithmetic
 * instructions); what shares a line of that table shares a pipe here. A division and whatever else
 * compilers make a sequence of stands for the pipe that most of the sequence runs on.
 */
public enum Pipe {
  /** f32 sums and products, and products of integers. */
  FMA,
  /** f16 and bf16, alone and in pairs. */
  HALF,
  FP64,
  /** Sums, comparisons, logic, shifts and moves of integers and predicates. */
  ALU,
  /** Approximations of functions, counts of bits, and what a warp reduces in one instruction. */
  MUFU,
  /** From one type to another. */
  CONVERSION,
  /** Loads, stores, atomics, exchanges between lanes, copies. */
  LSU,
  /** Products of matrices. */
  TENSOR,
  /** Branches, calls, barriers and votes. */
  CONTROL,
  /** No pipe: hints, and what becomes part of another instruction. */
  NONE;

  /** The pipe of an instruction of a row with these modifiers. */
  static Pipe of(InstructionForm form, Modifiers chosen) {
    return switch (form.semantics()) {
      case Pure _ -> lanes(form, chosen);
      case Semantics.Load _ ->
          chosen.has("param") || chosen.has("const") ? NONE : LSU; // operands of other instructions
      case Semantics.Store _,
          Semantics.Atomic _,
          Semantics.Fence _,
          Semantics.AsyncCopy _,
          Semantics.CommitGroup _,
          Semantics.WaitGroup _,
          Semantics.LoadMatrix _,
          Semantics.StoreMatrix _,
          Semantics.LoadTile _,
          Semantics.StoreTile _,
          Semantics.Mbarrier _,
          Semantics.CopyArrive _,
          Semantics.BulkCopy _,
          Semantics.TensorCopy _,
          Semantics.CommitBulk _,
          Semantics.WaitBulk _,
          Semantics.StoreAsync _,
          Semantics.ReplaceInTensorMap _,
          Semantics.CopyTensorMap _ ->
          LSU;
      case Semantics.Wgmma _ -> TENSOR;
      case Semantics.Warp _ ->
          switch (form.mnemonic()) {
            case "mma", "wmma" -> TENSOR;
            case "shfl" -> LSU;
            case "redux", "match" -> MUFU;
            default -> CONTROL;
          };
      case Semantics.NoEffect _ -> NONE;
      default -> CONTROL;
    };
  }

  private static Pipe lanes(InstructionForm form, Modifiers chosen) {
    return switch (form.mnemonic()) {
      case "cvt" -> chosen.types().size() > 1 && isSame(chosen) ? ALU : CONVERSION;
      case "cvta", "createpolicy" -> NONE;
      case "mov", "selp", "slct", "copysign", "testp", "and", "or", "xor", "not" -> ALU;
      case "popc", "clz", "bfind", "brev", "fns", "sin", "cos", "lg2", "ex2", "tanh", "rsqrt" ->
          MUFU;
      case "rcp", "sqrt", "div" -> chosen.has("approx") ? MUFU : arithmetic(chosen);
      case "mul", "mad", "mul24", "mad24", "madc", "dp4a", "dp2a" -> products(chosen);
      case "add", "sub", "fma", "neg", "abs" -> arithmetic(chosen);
      default -> isDouble(chosen) ? FP64 : isHalf(chosen) ? HALF : ALU;
    };
  }

  private static Pipe products(Modifiers chosen) {
    return isDouble(chosen) ? FP64 : isHalf(chosen) ? HALF : FMA;
  }

  private static Pipe arithmetic(Modifiers chosen) {
    return isDouble(chosen)
        ? FP64
        : isHalf(chosen) ? HALF : chosen.type().orElseThrow() == Type.F32 ? FMA : ALU;
  }

  /** Whether a conversion only rounds, or only cuts or extends an integer. */
  private static boolean isSame(Modifiers chosen) {
    var to = chosen.types().getFirst();
    var from = chosen.types().getLast();
    return to.kind() != Type.Kind.FLOAT
        && to.kind() != Type.Kind.PACKED
        && from.kind() != Type.Kind.FLOAT
        && from.kind() != Type.Kind.PACKED;
  }

  private static boolean isDouble(Modifiers chosen) {
    return chosen.types().contains(Type.F64);
  }

  private static boolean isHalf(Modifiers chosen) {
    return chosen.types().stream()
        .map(Type::element)
        .anyMatch(type -> type == Type.F16 || type == Type.BF16);
  }
}
