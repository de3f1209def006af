package dev.athanor.engine.lift.ir;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;

/** Takes instructions of the table, by their opcode in the manual's spelling. */
public interface Instructions {

  /** Returns a new register. */
  Operand.Register register(Type type);

  /** Declares a variable of each thread, unless the kernel has declared it before. */
  void declare(Variable variable);

  /** Appends an instruction, such as {@code fma.rn.f32}. */
  void emit(String opcode, Operand... operands);

  /** Appends an instruction that runs where {@code predicate} holds. */
  void emitIf(Operand.Register predicate, String opcode, Operand... operands);

  /** Returns a new register with the result of an instruction. */
  default Operand.Register result(Type type, String opcode, Operand... sources) {
    var d = register(type);
    var operands = new Operand[sources.length + 1];
    operands[0] = d;
    System.arraycopy(sources, 0, operands, 1, sources.length);
    emit(opcode, operands);
    return d;
  }
}
