package dev.athanor.engine.profile;

import dev.athanor.engine.analysis.Ceilings.Tensor;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.LaneOperation;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import org.jspecify.annotations.Nullable;

/**
 * The cost of an instruction on a multiprocessor.
 *
 * @param results results per lane: 2 for a packed type
 * @param flops floating-point operations (integer operations of integer tensor instructions), where
 *     a multiply-add counts as two: per warp for {@link Unit#TENSOR}, else per lane
 * @param tensor types of a tensor-core product; null = no such product
 */
record Cost(Unit unit, int results, long flops, @Nullable Tensor tensor) {

  /** An execution unit. */
  enum Unit {
    F32,
    F16,
    F64,
    INTEGER,
    /** Reciprocals, roots, exponentials and similar functions. */
    SPECIAL,
    TENSOR,
    CONVERSION,
    /** Loads, stores, copies and atomics. */
    MEMORY,
    /** Shuffles, votes and similar instructions. */
    WARP,
    CONTROL,
    /** Moves, address conversions and parameters, which an assembler folds into operands. */
    NONE
  }

  private static final int WARPS_OF_A_GROUP = 4;

  static Cost of(Instruction instruction) {
    var modifiers = instruction.modifiers();
    return switch (instruction.form().semantics()) {
      case Semantics.Pure pure -> pure(pure.operation(), modifiers);
      case Semantics.Warp warp ->
          switch (warp.kind()) {
            case MATRIX_PRODUCT -> matrix(modifiers, 1);
            case TRANSPOSE,
                SHUFFLE,
                VOTE,
                MATCH,
                REDUCTION,
                ELECTION,
                PRODUCT_FENCE,
                REGISTER_COUNT ->
                plain(Unit.WARP);
          };
      case Semantics.Wgmma _ -> matrix(modifiers, WARPS_OF_A_GROUP);
      case Semantics.Converged _ -> plain(Unit.WARP);
      case Semantics.Load _ when modifiers.has("param") -> plain(Unit.NONE);
      case Semantics.Barrier _, Semantics.WarpBarrier _, Semantics.Control _ -> plain(Unit.CONTROL);
      case Semantics.ClusterRank _,
          Semantics.Access _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Synchronization _,
          Semantics.TensorMapUpdate _,
          Semantics.NoEffect _ ->
          plain(Unit.MEMORY);
    };
  }

  private static Cost plain(Unit unit) {
    return new Cost(unit, 1, 0, null);
  }

  /**
   * Returns the cost of a matrix product.
   *
   * @param warps number of warps that share it
   */
  private static Cost matrix(Modifiers modifiers, int warps) {
    var shape = MatrixShape.of(modifiers);
    long flops = 2L * shape.m() * shape.n() * shape.k();
    var types = modifiers.types();
    // the result type comes first, then the factors; wmma with f16 factors names only accumulators
    var factor = types.size() > 2 ? types.get(1) : Type.F16;
    var tensor =
        switch (factor) {
          case F16 -> types.getFirst() == Type.F16 ? Tensor.F16_IN_F16 : Tensor.F16;
          case BF16 -> Tensor.BF16;
          case TF32 -> Tensor.TF32;
          case E4M3, E5M2, E3M2, E2M3, E2M1 -> Tensor.FP8;
          case F64 -> Tensor.F64;
          default -> Tensor.INT8;
        };
    return new Cost(Unit.TENSOR, 1, flops / warps, tensor);
  }

  private static Cost pure(LaneOperation operation, Modifiers modifiers) {
    return switch (operation.work()) {
      case NONE -> plain(Unit.NONE);
      case CONVERSION -> plain(Unit.CONVERSION);
      case ARITHMETIC -> number(modifiers, 1, false);
      case MULTIPLY_ADD -> number(modifiers, 2, false);
      case SPECIAL -> number(modifiers, 1, true);
      case LOGIC -> plain(unit(modifiers) == Unit.F64 ? Unit.F64 : Unit.INTEGER);
    };
  }

  /**
   * Returns the cost of arithmetic on the operation type.
   *
   * @param each floating-point operations per result
   * @param special whether the special function unit executes it, if that supports the type
   */
  private static Cost number(Modifiers modifiers, int each, boolean special) {
    var unit = unit(modifiers);
    if (unit == Unit.INTEGER) {
      return plain(unit);
    }
    var type = modifiers.type().orElseThrow();
    int results = type.kind() == Type.Kind.PACKED ? type.bits() / type.element().bits() : 1;
    return new Cost(
        special && unit != Unit.F64 ? Unit.SPECIAL : unit, results, (long) each * results, null);
  }

  /** Returns the unit for the operation type. */
  private static Unit unit(Modifiers modifiers) {
    return switch (modifiers.type().orElse(Type.B32).element()) {
      case F32 -> Unit.F32;
      case F16, BF16 -> Unit.F16;
      case F64 -> Unit.F64;
      default -> Unit.INTEGER;
    };
  }
}
