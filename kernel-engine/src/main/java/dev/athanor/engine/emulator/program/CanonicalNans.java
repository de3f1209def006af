package dev.athanor.engine.emulator.program;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.Nans;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Replaces the NaNs of f32 arithmetic by the canonical NaN, {@code 0x7FFFFFFF}, wherever their bits
 * can be observed. Sums and products of the JVM return other NaNs, and a check after each of them
 * would prevent vectorization. Registers that hold only such results and numbers are corrected
 * where their bits are read; registers that also hold other bits, such as loaded ones, which must
 * not change, are corrected after each result.
 */
final class CanonicalNans {

  private final Set<Register> left = new HashSet<>();
  private final Set<Register> mixed = new HashSet<>();
  private final List<Statement> body = new ArrayList<>();
  private final Set<Instruction> added;

  private CanonicalNans(Kernel kernel, Set<Instruction> added) {
    this.added = added;
    var other = new HashSet<Register>();
    kernel
        .instructions()
        .forEach(i -> {
          if (isArithmetic(i)) {
            left.addAll(i.writes());
          } else if (!isBlind(i) && !isNumber(i)) {
            other.addAll(i.writes());
          }
        });
    mixed.addAll(left);
    mixed.retainAll(other);
    left.removeAll(mixed);
  }

  /**
   * Returns the kernel with instructions that make NaNs canonical; the kernel itself if it needs
   * none.
   *
   * @param added collects these instructions
   */
  static Kernel in(Kernel kernel, Set<Instruction> added) {
    var nans = new CanonicalNans(kernel, added);
    if (nans.left.isEmpty() && nans.mixed.isEmpty()) {
      return kernel;
    }
    kernel.body().forEach(nans::add);
    return kernel.withBody(nans.body);
  }

  private void add(Statement statement) {
    if (!(statement instanceof Instruction i)) {
      body.add(statement);
      return;
    }
    if (!isBlind(i)) {
      i.reads().stream()
          .filter(left::contains)
          .distinct()
          .forEach(register -> canonical(register, null, i));
    }
    body.add(i);
    if (isArithmetic(i)) {
      i.writes().stream()
          .filter(mixed::contains)
          .forEach(register -> canonical(register, i.guard(), i));
    }
  }

  private void canonical(Register register, @Nullable Guard guard, Instruction of) {
    var operands = List.<Operand>of(register, register, register);
    var made =
        InstructionTable.instruction("max.NaN.f32", operands, guard, of.source())
            .asReplacementOf(of);
    added.add(made);
    body.add(made);
  }

  private static boolean isArithmetic(Instruction i) {
    return i.form().semantics() instanceof Semantics.Pure pure
        && pure.operation().nans() == Nans.NATIVE
        && i.modifiers().type().filter(type -> type == Type.F32).isPresent();
  }

  /** Returns whether the bits of NaN operands do not affect the result. */
  private static boolean isBlind(Instruction i) {
    return switch (i.form().semantics()) {
      case Semantics.Pure pure ->
          switch (pure.operation().nans()) {
            case NATIVE, CANONICAL -> true;
            case COPIED, CONVERTED, PRESERVED -> false;
          };
      case Semantics.Warp warp ->
          switch (warp.kind()) {
            case MATRIX_PRODUCT -> true;
            case TRANSPOSE,
                SHUFFLE,
                VOTE,
                MATCH,
                REDUCTION,
                ELECTION,
                PRODUCT_FENCE,
                REGISTER_COUNT ->
                false;
          };
      case Semantics.Wgmma _ -> true;
      case Semantics.Converged _,
          Semantics.ClusterRank _,
          Semantics.Access _,
          Semantics.AsyncCopy _,
          Semantics.BulkCopy _,
          Semantics.TensorCopy _,
          Semantics.StoreAsync _,
          Semantics.TensorMemory _,
          Semantics.Completion _,
          Semantics.Synchronization _,
          Semantics.TensorMapUpdate _,
          Semantics.Control _,
          Semantics.NoEffect _ ->
          false;
    };
  }

  /** Returns whether it never writes a NaN: it moves a number or converts to an integer. */
  private static boolean isNumber(Instruction i) {
    return i.form().semantics() instanceof Semantics.Pure pure
        && switch (pure.operation().nans()) {
          case CONVERTED -> i.modifiers().types().getLast().kind() != Type.Kind.FLOAT;
          case COPIED ->
              i.operands().getLast() instanceof Operand.Immediate literal
                  && !Float.isNaN(Float.intBitsToFloat((int) literal.bits()));
          case NATIVE, CANONICAL, PRESERVED -> false;
        };
  }
}
