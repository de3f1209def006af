package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.Boxed;
import dev.athanor.engine.lift.bytecode.JavaValue.ObjectArray;
import dev.athanor.engine.lift.bytecode.JavaValue.Text;
import dev.athanor.engine.lift.intrinsic.JavaFormat;
import dev.athanor.engine.lift.intrinsic.PrintLowering;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Translates calls of {@code Gpu.print}. */
final class PrintCalls {
  private final Translation to;
  private final MethodCode code;

  PrintCalls(Translation to, MethodCode code) {
    this.to = to;
    this.code = code;
  }

  private LiftException refuse(Refusal refusal, Object... names) {
    return new LiftException(refusal, to.source(), code.name(), names);
  }

  /**
   * Appends a call.
   *
   * @param arguments the format, and the array of values
   */
  void call(List<JavaValue> arguments) {
    if (!(arguments.get(0) instanceof Text(var text))) {
      throw refuse(Refusal.STRING, "the format");
    }
    if (!(arguments.get(1) instanceof ObjectArray array)) {
      throw refuse(Refusal.PRINT_VALUES);
    }
    var given = array.values();
    var format = translated(text, given);
    // equal formats of a kernel are one constant
    var table =
        new FieldTranslator(to, code)
            .table(Element.BYTE, format.text().intern(), format::zeroTerminated, "a format");
    var inputs = new ArrayList<Value>();
    inputs.add(table.pointer());
    for (int i = 0; i < given.size(); i++) {
      inputs.add(passed(((Boxed) given.get(i)).value(), format.values().get(i)));
    }
    to.add(Op.CALL, ValueType.VOID, PrintLowering.INTRINSIC, inputs.toArray(Value[]::new));
  }

  private JavaFormat translated(String text, List<@Nullable JavaValue> values) {
    var types = new ArrayList<Class<?>>();
    for (var value : values) {
      types.add(
          switch (value) {
            case Boxed boxed -> Boxes.primitive(boxed.type());
            case Text _ -> String.class;
            case null, default -> Object.class;
          });
    }
    try {
      return JavaFormat.of(text, types);
    } catch (IllegalArgumentException e) {
      throw refuse(Refusal.PRINT_CONVERSION, String.valueOf(e.getMessage()));
    }
  }

  private Value passed(Value value, JavaFormat.Passed as) {
    if (as.type() == Element.FLOAT) {
      return to.convert(value, ValueType.DOUBLE);
    }
    if (as.type() == Element.DOUBLE) {
      // C prints the sign of NaN, which an operation has on some devices only
      var isNan = to.compare(Relation.NEU, value, value);
      var nan = Value.constant(ValueType.DOUBLE, Double.NaN);
      return to.add(Op.SELECT, ValueType.DOUBLE, null, isNan, nan, value);
    }
    return as.mask() == -1
        ? value
        : to.add(Op.AND, ValueType.INT, null, value, Value.constant(as.mask()));
  }
}
