package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.ArgumentValue;
import dev.athanor.engine.lift.ir.ArrayVariable;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/** Emits the instructions of one value. */
final class ValueEmitter {
  private final String kernel;
  private final RegisterFile out;
  private final Operands operands;
  private final Set<Value> used;
  private final Conversions conversions;

  /**
   * @param kernel its name, for messages
   * @param used the values that are inputs of others
   */
  ValueEmitter(String kernel, RegisterFile out, Operands operands, Set<Value> used) {
    this.kernel = kernel;
    this.out = out;
    this.operands = operands;
    this.used = used;
    conversions = new Conversions(out);
  }

  void emit(Value value) {
    switch (value.op()) {
      case ARGUMENT ->
          out.emit(
              "ld.param." + value.type().ptx().word(),
              operands.register(value),
              new Address(new Symbol(value.attribute(ArgumentValue.class).parameterName()), 0));
      case SPECIAL ->
          out.emit("mov.u32", operands.register(value), value.attribute(SpecialRegister.class));
      case ARRAY ->
          out.emit(
              "mov.u" + value.type().bits(),
              operands.register(value),
              new Symbol(value.attribute(ArrayVariable.class).name()));
      case THREE_WAY -> threeWay(value);
      case COMPARE -> compare(value);
      case SELECT ->
          out.emit(
              "selp." + value.type().ptx().word(),
              operands.register(value),
              operand(value, 1),
              operand(value, 2),
              operands.inRegister(value.input(0)));
      case CONVERT ->
          conversions.convert(
              operands.register(value),
              value.type(),
              operands.inRegister(value.input(0)),
              value.input(0).type());
      case NARROW -> narrow(value);
      case BITCAST ->
          out.emit(
              "mov.b" + value.type().bits(),
              operands.register(value),
              operands.inRegister(value.input(0)));
      case ADDRESS -> address(value);
      case LOAD -> load(value);
      case STORE -> store(value);
      case CALL -> call(value);
      case PART -> operands.definePart(value);
      case POSITION -> out.setFrame(value.attribute(SourceFrame.class), value.source());
      case ASSIGN -> operands.move(value.attribute(Register.class), value.input(0));
      case CONSTANT, PHI, CHECK ->
          throw new IllegalStateException("%s is not emitted here".formatted(value));
      default -> arithmetic(value);
    }
  }

  private Operand operand(Value value, int input) {
    return operands.of(value.input(input));
  }

  private void call(Value value) {
    var intrinsic = value.attribute(Intrinsic.class);
    try {
      intrinsic.lowering().emit(out, result(value, intrinsic.signature()), arguments(value));
    } catch (IllegalArgumentException e) {
      throw new LiftException(
          Refusal.LOWERING_FAILED,
          value.source(),
          kernel,
          intrinsic.name(),
          String.valueOf(e.getMessage()));
    }
  }

  private Operand result(Value value, Intrinsic.Signature signature) {
    if (!signature.results().isEmpty()) {
      return Operand.Vector.of(operands.registers(value, signature.results()));
    }
    boolean discarded = value.type() == ValueType.VOID || !used.contains(value);
    return discarded ? new Operand.Sink() : operands.register(value);
  }

  private List<Operand> arguments(Value value) {
    var vectors = value.attribute(Intrinsic.class).signature().vectors();
    if (vectors.isEmpty()) {
      return value.inputs().stream().map(operands::argument).toList();
    }
    var inputs = value.inputs().iterator();
    var found = new ArrayList<Operand>();
    for (int length : vectors) {
      found.add(
          length == 0
              ? operands.argument(inputs.next())
              : Operand.Vector.of(
                  Stream.generate(inputs::next).limit(length).map(operands::inRegister).toList()));
    }
    return found;
  }

  private void arithmetic(Value value) {
    var type = value.type();
    var d = operands.register(value);
    if (type == ValueType.BOOL && value.is(Op.XOR) && value.input(1).isConstant(true)) {
      out.emit("not.pred", d, operand(value, 0));
      return;
    }
    if (value.is(Op.DIV) && type.isFloating() && value.input(0).isConstant(one(type))) {
      out.emit("rcp.rn." + type.ptx().word(), d, operand(value, 1)); // rounds as the division does
      return;
    }
    switch (value.op()) {
      case MIN, MAX -> extremum(value, d);
      case SHL, SHR, USHR -> shift(value, d);
      default -> {
        var sources = value.inputs().stream().map(operands::of).toArray(Operand[]::new);
        var all = new Operand[sources.length + 1];
        all[0] = d;
        System.arraycopy(sources, 0, all, 1, sources.length);
        out.emit(opcode(value.op(), type), all);
      }
    }
  }

  private static Object one(ValueType type) {
    return type == ValueType.FLOAT ? (Object) 1f : (Object) 1d;
  }

  private static String opcode(Op op, ValueType type) {
    var word = op.name().toLowerCase(Locale.ROOT);
    var suffix = "." + type.ptx().word();
    return switch (op) {
      case ADD, SUB, DIV, FMA, SQRT -> word + (type.isFloating() ? ".rn" : "") + suffix;
      case MUL -> word + (type.isFloating() ? ".rn" : ".lo") + suffix;
      case AND, OR, XOR -> word + (type == ValueType.BOOL ? ".pred" : ".b" + type.bits());
      case REM, NEG, ABS -> word + suffix;
      case FLOOR -> "cvt.rmi" + suffix + suffix;
      case CEIL -> "cvt.rpi" + suffix + suffix;
      case RINT -> "cvt.rni" + suffix + suffix;
      default -> throw new IllegalStateException(op + " has no instruction");
    };
  }

  /** Java's minimum is NaN if an operand is; {@code min.f64} returns the other operand. */
  private void extremum(Value value, Register d) {
    var word = value.op().name().toLowerCase(Locale.ROOT);
    var a = operand(value, 0);
    var b = operand(value, 1);
    switch (value.type()) {
      case FLOAT -> out.emit(word + ".NaN.f32", d, a, b);
      case DOUBLE -> {
        var number = out.result(Type.F64, word + ".f64", a, b);
        var nan = out.result(Type.PRED, "setp.nan.f64", a, b);
        out.emit("selp.f64", d, Immediate.of(Double.NaN), number, nan);
      }
      default -> out.emit(word + "." + value.type().ptx().word(), d, a, b);
    }
  }

  /** Java uses the low bits of the distance; PTX clamps it. */
  private void shift(Value value, Register d) {
    int bits = value.type().bits();
    var distance = value.input(1);
    var by =
        distance.is(Op.CONSTANT)
            ? Immediate.of((int) distance.integer() & (bits - 1))
            : out.result(Type.B32, "and.b32", operands.of(distance), Immediate.of(bits - 1));
    var opcode =
        switch (value.op()) {
          case SHL -> "shl.b" + bits;
          case SHR -> "shr.s" + bits;
          default -> "shr.u" + bits;
        };
    out.emit(opcode, d, operand(value, 0), by);
  }

  private void compare(Value value) {
    var type = value.input(0).type();
    var relation = value.attribute(Relation.class);
    boolean unsigned = relation == Relation.LO || relation == Relation.HS;
    out.emit(
        "setp.%s.%s"
            .formatted(
                relation.name().toLowerCase(Locale.ROOT),
                unsigned ? "u" + type.bits() : type.ptx().word()),
        operands.register(value),
        operand(value, 0),
        operand(value, 1));
  }

  private void threeWay(Value value) {
    var a = operand(value, 0);
    var b = operand(value, 1);
    var type = value.input(0).type();
    int nan = value.attribute(Integer.class);
    var suffix = "." + type.ptx().word();
    var less =
        out.result(Type.PRED, "setp.lt" + (type.isFloating() && nan < 0 ? "u" : "") + suffix, a, b);
    var more =
        out.result(Type.PRED, "setp.gt" + (type.isFloating() && nan > 0 ? "u" : "") + suffix, a, b);
    var positive = out.result(Type.S32, "selp.s32", Immediate.of(1), Immediate.of(0), more);
    out.emit("selp.s32", operands.register(value), Immediate.of(-1), positive, less);
  }

  private void narrow(Value value) {
    var d = operands.register(value);
    var a = operand(value, 0);
    var element = value.attribute(Element.class);
    if (element == Element.CHAR) {
      out.emit("and.b32", d, a, Immediate.of(Character.MAX_VALUE));
    } else {
      out.emit("bfe.s32", d, a, Immediate.of(0), Immediate.of(element.memory().bits()));
    }
  }

  private void address(Value value) {
    var d = operands.register(value);
    var pointer = operand(value, 0);
    var index = operand(value, 1);
    int size = value.attribute(Integer.class);
    boolean global = value.type() == ValueType.LONG;
    if (global && value.input(1).type() == ValueType.INT) {
      var offset =
          size == 1
              ? out.result(Type.S64, "cvt.s64.s32", operands.inRegister(value.input(1)))
              : out.result(Type.S64, "mul.wide.s32", index, Immediate.of(size));
      out.emit("add.s64", d, pointer, offset);
    } else {
      var bits = global ? "64" : "32";
      var offset =
          size == 1
              ? index
              : out.result(
                  value.type().ptx(),
                  "shl.b" + bits,
                  index,
                  Immediate.of(Integer.numberOfTrailingZeros(size)));
      out.emit("add.s" + bits, d, pointer, offset);
    }
  }

  /** Returns the operand of an access; an array of the kernel without an index is named. */
  private Address address(Value address, Access access) {
    return address.is(Op.ARRAY)
        ? new Address(new Symbol(address.attribute(ArrayVariable.class).name()), access.offset())
        : new Address(operands.inRegister(address), access.offset());
  }

  private static String space(Access access) {
    return "." + access.space().word();
  }

  private void load(Value value) {
    var access = value.attribute(Access.class);
    var memory = access.element().memory();
    var opcode =
        "ld%s%s%s.%s"
            .formatted(
                space(access), access.readOnly() ? ".nc" : "", vector(access), memory.word());
    var address = address(value.input(0), access);
    var results = results(value, access);
    boolean isNarrow = memory.bits() < 32;
    var loaded = isNarrow ? results.stream().map(_ -> out.register(memory)).toList() : results;
    out.emit(opcode, operand(loaded), address);
    if (isNarrow) {
      var sign = memory.kind() == Type.Kind.SIGNED ? "s" : "u";
      var widen = "cvt.%s32.%s%d".formatted(sign, sign, memory.bits());
      for (int i = 0; i < results.size(); i++) {
        out.emit(widen, results.get(i), loaded.get(i));
      }
    }
  }

  private List<Register> results(Value load, Access access) {
    return access.count() == 1
        ? List.of(operands.register(load))
        : operands.registers(load, Collections.nCopies(access.count(), access.element().value()));
  }

  private void store(Value value) {
    var access = value.attribute(Access.class);
    var memory = access.element().memory();
    var opcode = "st%s%s.%s".formatted(space(access), vector(access), memory.word());
    var address = address(value.input(0), access);
    var values = value.inputs().subList(1, value.inputs().size());
    if (memory.bits() < 32) {
      out.emit(opcode, address, operand(values.stream().map(v -> narrowed(v, memory)).toList()));
    } else if (values.size() == 1) {
      out.emit(opcode, address, operands.of(values.getFirst()));
    } else {
      out.emit(opcode, address, operand(values.stream().map(operands::inRegister).toList()));
    }
  }

  private Register narrowed(Value value, Type memory) {
    return out.result(memory, "cvt.u16.u32", operands.inRegister(value));
  }

  private static String vector(Access access) {
    return access.count() == 1 ? "" : ".v" + access.count();
  }

  private static Operand operand(List<Register> elements) {
    return elements.size() == 1 ? elements.getFirst() : Operand.Vector.of(elements);
  }
}
