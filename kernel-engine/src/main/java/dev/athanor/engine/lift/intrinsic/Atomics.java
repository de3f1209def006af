package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Access.Space;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Atomic read-modify-write operations on an element of an array; relaxed. */
public final class Atomics {
  private static final Intrinsic.Signature WRITES_FIRST_INPUT =
      new Intrinsic.Signature(List.of(), List.of(), List.of(), Set.of(0));

  private Atomics() {}

  /**
   * Returns an atomic operation. Its inputs are the address and the operands; its result is the old
   * value.
   *
   * @param operation the word in PTX, such as {@code add}
   */
  public static Intrinsic intrinsic(String operation, Space space, Element element) {
    var place = space.name().toLowerCase(Locale.ROOT);
    var opcode = ".%s.%s.%s".formatted(place, operation, type(operation, element));
    return new Intrinsic(
            "atomic" + opcode,
            Effect.WRITE,
            (out, result, inputs) -> emit(opcode, operation, out, result, inputs))
        .with(WRITES_FIRST_INPUT);
  }

  private static String type(String operation, Element element) {
    return switch (operation) {
      case "and", "or", "xor", "exch", "cas" -> "b" + element.memory().bits();
      case "inc", "dec" -> "u32";
      // two's complement: the sum is the same, and only the unsigned one exists in 64 bits
      case "add" -> element == Element.LONG ? "u64" : element.memory().word();
      default -> element.memory().word();
    };
  }

  private static void emit(
      String opcode, String operation, Instructions out, Operand result, List<Operand> inputs) {
    var address = new Operand.Address(inputs.getFirst(), 0);
    boolean unused = result instanceof Operand.Sink;
    boolean reduces = unused && !operation.equals("exch") && !operation.equals("cas");
    if (reduces) {
      out.emit("red" + opcode, address, inputs.get(1));
    } else {
      var d = unused ? out.register(typeOf(opcode)) : result;
      if (inputs.size() == 2) {
        out.emit("atom" + opcode, d, address, inputs.get(1));
      } else {
        out.emit("atom" + opcode, d, address, inputs.get(1), inputs.get(2));
      }
    }
  }

  private static Type typeOf(String opcode) {
    var word = opcode.substring(opcode.lastIndexOf('.') + 1).toUpperCase(Locale.ROOT);
    return Type.valueOf(word);
  }
}
