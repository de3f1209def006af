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
 * Makes a NaN that f32 arithmetic gives the canonical one, {@code 0x7FFFFFFF}, wherever its bits
 * can be seen. Sums and products of the JVM give other NaNs, of two operands even either, and to
 * look at each of them would keep loops from being vectorised. So a register that takes nothing but
 * such results and numbers is left alone until something reads its bits; only one that takes other
 * bits as well, such as loaded ones, which must stay as they are, is looked at after each result.
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
   * The kernel with what makes NaNs canonical; the kernel itself where nothing is needed.
   *
   * @param added takes the instructions that do so
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

  /** Whether it takes all NaNs alike and gives none but the canonical one. */
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
          Semantics.Completion _,
          Semantics.Synchronization _,
          Semantics.TensorMapUpdate _,
          Semantics.Control _,
          Semantics.NoEffect _ ->
          false;
    };
  }

  /** Whether it never writes a NaN, as other literals and converted integers do not. */
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
