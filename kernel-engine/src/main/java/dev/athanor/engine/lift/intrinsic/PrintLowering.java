package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Arguments;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.RuntimeFunction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.meaning.PrintFormat;
import java.util.List;

/** The call of {@code vprintf} (CUDA programming guide, formatted output). */
public final class PrintLowering {

  /** Inputs: the address of the format in constant memory, and the values as C passes them. */
  public static final Intrinsic INTRINSIC =
      new Intrinsic("print", Effect.WRITE, PrintLowering::call);

  private static final Variable VALUES =
      local(Space.LOCAL, Type.B8, "$values", PrintFormat.MAX_ARGUMENTS * Long.BYTES);
  private static final Variable FORMAT = local(Space.PARAM, Type.B64, "$format", Variable.SCALAR);
  private static final Variable ARGUMENTS =
      local(Space.PARAM, Type.B64, "$arguments", Variable.SCALAR);

  private PrintLowering() {}

  private static Variable local(Space space, Type type, String name, int count) {
    return new Variable("", space, Long.BYTES, type, name, count, List.of());
  }

  private static void call(Instructions out, Operand result, List<Operand> inputs) {
    var format = out.result(Type.U64, "cvta.const.u64", inputs.getFirst());
    var values = inputs.subList(1, inputs.size());
    var arguments = values.isEmpty() ? Immediate.of(0) : stored(out, values);
    pass(out, FORMAT, format);
    pass(out, ARGUMENTS, arguments);
    out.emit(
        "call",
        new Arguments(List.of(new Operand.Sink())),
        new Symbol(RuntimeFunction.VPRINTF.symbol()),
        new Arguments(List.of(new Symbol(FORMAT.name()), new Symbol(ARGUMENTS.name()))));
  }

  private static void pass(Instructions out, Variable parameter, Operand value) {
    out.declare(parameter);
    out.emit("st.param.b64", new Address(new Symbol(parameter.name()), 0), value);
  }

  /** Stores the values as the variable arguments of C, and returns their generic address. */
  private static Operand stored(Instructions out, List<Operand> values) {
    out.declare(VALUES);
    var memory = new Symbol(VALUES.name());
    int end = 0;
    for (var value : values) {
      int bytes = bytes(value);
      int at = Math.ceilDiv(end, bytes) * bytes;
      out.emit("st.local.b" + bytes * Byte.SIZE, new Address(memory, at), value);
      end = at + bytes;
    }
    return out.result(Type.U64, "cvta.local.u64", memory);
  }

  /** Returns the size of an operand; all literals are ints. */
  private static int bytes(Operand value) {
    var type = value instanceof Operand.Register r ? r.registerClass() : RegisterClass.B32;
    return type.bits() / Byte.SIZE;
  }
}
