package dev.athanor.engine.analysis;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.flow.ControlFlow;
import dev.athanor.engine.ptx.flow.LiveRegisters;
import dev.athanor.engine.ptx.flow.RegisterIndex;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The live registers of a kernel and the register pressure. The assembler reorders instructions and
 * allocates registers anew, so that its register count is near the pressure, but not equal to it.
 */
public final class Liveness {

  private final int statements;
  private final LiveRegisters live;

  private Liveness(int statements, LiveRegisters live) {
    this.statements = statements;
    this.live = live;
  }

  public static Liveness of(Kernel kernel) {
    return new Liveness(
        kernel.body().size(),
        LiveRegisters.of(
            kernel.body(),
            ControlFlow.of(kernel),
            new RegisterIndex(kernel.registers()),
            Instruction::reads,
            Instruction::writes));
  }

  /** Returns the registers that are live before a statement. */
  public List<Register> before(int statement) {
    return live.before(statement);
  }

  /**
   * Returns the number of 32-bit registers that hold them; predicates have registers of their own
   * and do not count.
   */
  public int words(int statement) {
    return live.sum(statement, r -> words(r.registerClass()));
  }

  /** Returns the number of predicates that are live before a statement. */
  public int predicates(int statement) {
    return live.sum(statement, r -> r.registerClass() == RegisterClass.PRED ? 1 : 0);
  }

  /** Returns the register pressure: the most 32-bit registers that are live at once. */
  public int mostWords() {
    return IntStream.range(0, statements).map(this::words).max().orElse(0);
  }

  /**
   * Returns the most predicates that are live at once. A thread has seven predicate registers; the
   * assembler keeps further predicates in 32-bit registers.
   */
  public int mostPredicates() {
    return IntStream.range(0, statements).map(this::predicates).max().orElse(0);
  }

  private static int words(RegisterClass registerClass) {
    return switch (registerClass) {
      case PRED -> 0;
      case B16, B32, F32 -> 1;
      case B64, F64 -> 2;
    };
  }
}
