package dev.athanor.engine.profile;

import dev.athanor.engine.analysis.Ceilings.Tensor;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What an instruction asks of a multiprocessor.
 *
 * @param results that each lane makes: 2 of a packed type
 * @param flops floating-point operations (of integer tensor instructions integer ones), a
 *     multiply-add counting two: of {@link Unit#TENSOR} those of the warp, else of a lane
 * @param tensor what a tensor core multiplies
 */
record Cost(Unit unit, int results, long flops, @Nullable Tensor tensor) {

  /** What executes instructions. */
  enum Unit {
    F32,
    F16,
    F64,
    INTEGER,
    /** Reciprocals, roots, exponentials and such. */
    SPECIAL,
    TENSOR,
    CONVERSION,
    /** Loads, stores, copies and atomics. */
    MEMORY,
    /** Shuffles, votes and such. */
    WARP,
    CONTROL,
    /**
     * Moves, address conversions and parameters, which an assembler turns into operands of other
     * instructions.
     */
    NONE
  }

  private static final Set<String> ARITHMETIC = Set.of("add", "sub", "mul", "fma", "mad");
  private static final Set<String> SPECIAL =
      Set.of("div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh");
  private static final Set<String> MATRIX = Set.of("mma", "wgmma", "wmma");
  private static final Pattern SHAPE = Pattern.compile("m(\\d+)n(\\d+)k(\\d+)");
  private static final int WARPS_OF_A_GROUP = 4;

  static Cost of(Instruction instruction) {
    var mnemonic = instruction.form().mnemonic();
    var modifiers = instruction.modifiers();
    if (MATRIX.contains(mnemonic)) {
      var shape =
          modifiers.list().stream()
              .map(word -> SHAPE.matcher(word.word()))
              .filter(Matcher::matches)
              .findFirst();
      // of wmma and wgmma some rows only load, store or wait
      if (shape.isPresent() && !modifiers.has("load") && !modifiers.has("store")) {
        return matrix(mnemonic, shape.get(), modifiers.types());
      }
    }
    return switch (instruction.form().semantics()) {
      case Semantics.Pure _ -> pure(mnemonic, modifiers);
      case Semantics.Load _ when modifiers.has("param") -> plain(Unit.NONE);
      case Semantics.Branch _, Semantics.Exit _, Semantics.Barrier _, Semantics.WarpBarrier _ ->
          plain(Unit.CONTROL);
      case Semantics.Warp _, Semantics.Converged _ -> plain(Unit.WARP);
      default -> plain(Unit.MEMORY);
    };
  }

  private static Cost plain(Unit unit) {
    return new Cost(unit, 1, 0, null);
  }

  private static Cost matrix(String mnemonic, Matcher shape, List<Type> types) {
    long flops =
        2L
            * Integer.parseInt(shape.group(1))
            * Integer.parseInt(shape.group(2))
            * Integer.parseInt(shape.group(3));
    // the type of the result comes first, that of a second; wmma with f16 names only the sums
    var factor = types.size() > 2 ? types.get(1) : Type.F16;
    var tensor =
        switch (factor) {
          case F16 -> types.getFirst() == Type.F16 ? Tensor.F16_IN_F16 : Tensor.F16;
          case BF16 -> Tensor.BF16;
          case TF32 -> Tensor.TF32;
          case E4M3, E5M2 -> Tensor.FP8;
          case F64 -> Tensor.F64;
          default -> Tensor.INT8;
        };
    return new Cost(
        Unit.TENSOR, 1, mnemonic.equals("wgmma") ? flops / WARPS_OF_A_GROUP : flops, tensor);
  }

  private static Cost pure(String mnemonic, Modifiers modifiers) {
    if (mnemonic.equals("mov") || mnemonic.equals("cvta")) {
      return plain(Unit.NONE);
    }
    if (mnemonic.equals("cvt")) {
      return plain(Unit.CONVERSION);
    }
    var type = modifiers.type().orElse(Type.B32);
    int results = type.kind() == Type.Kind.PACKED ? type.bits() / type.element().bits() : 1;
    var unit =
        switch (type.element()) {
          case F32 -> Unit.F32;
          case F16, BF16 -> Unit.F16;
          case F64 -> Unit.F64;
          default -> Unit.INTEGER;
        };
    if (unit == Unit.INTEGER) {
      return plain(unit);
    }
    if (ARITHMETIC.contains(mnemonic)) {
      int each = mnemonic.equals("fma") || mnemonic.equals("mad") ? 2 : 1;
      return new Cost(unit, results, (long) each * results, null);
    }
    if (SPECIAL.contains(mnemonic)) {
      return new Cost(unit == Unit.F64 ? unit : Unit.SPECIAL, results, results, null);
    }
    // comparisons, choices and signs
    return plain(unit == Unit.F64 ? unit : Unit.INTEGER);
  }
}
