package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The registers and literals of values. */
final class Operands {
  private final RegisterFile out;
  private final Map<Value, Register> registers = new HashMap<>();
  private final Map<Value, List<Register>> parts = new HashMap<>();

  Operands(RegisterFile out) {
    this.out = out;
  }

  /** Returns the register of a value that is no literal. */
  Register register(Value value) {
    return registers.computeIfAbsent(value, v -> out.register(v.type().ptx()));
  }

  /** Returns new registers for the results of a value, one for each type. */
  List<Register> registers(Value value, List<ValueType> types) {
    var found = types.stream().map(type -> out.register(type.ptx())).toList();
    parts.put(value, found);
    return found;
  }

  /** Lets a {@link Op#PART} have the register of the result that it stands for. */
  void definePart(Value part) {
    var all = Objects.requireNonNull(parts.get(part.input(0)));
    registers.put(part, all.get(part.attribute(Integer.class)));
  }

  /** Returns the operand of a value: a literal or its register. */
  Operand of(Value value) {
    if (!value.is(Op.CONSTANT)) {
      return register(value);
    }
    return value.type() == ValueType.BOOL ? inRegister(value) : literal(value);
  }

  /** Returns the operand of a value, in a register unless it is an int. */
  Operand argument(Value value) {
    return value.is(Op.CONSTANT) && value.type() != ValueType.INT ? inRegister(value) : of(value);
  }

  /** Returns a register with the value. */
  Register inRegister(Value value) {
    if (!value.is(Op.CONSTANT)) {
      return register(value);
    }
    var d = out.register(value.type().ptx());
    move(d, value);
    return d;
  }

  /** Emits a copy of a value to a register. */
  void move(Register d, Value value) {
    if (value.type() == ValueType.BOOL && value.is(Op.CONSTANT)) {
      // PTX has no literal predicates
      out.emit("setp.eq.s32", d, Immediate.of(0), Immediate.of(value.isConstant(true) ? 0 : 1));
    } else {
      move(d, value.type(), of(value));
    }
  }

  void move(Register d, ValueType type, Operand from) {
    out.emit("mov." + (type == ValueType.BOOL ? "pred" : type.ptx().word()), d, from);
  }

  private static Immediate literal(Value value) {
    return switch (value.attribute(Object.class)) {
      case Integer n -> Immediate.of(n.intValue());
      case Long n -> new Immediate(Type.S64, n);
      case Float n -> Immediate.of(n.floatValue());
      case Double n -> Immediate.of(n.doubleValue());
      case Object other -> throw new IllegalArgumentException("no literal: " + other);
    };
  }
}
