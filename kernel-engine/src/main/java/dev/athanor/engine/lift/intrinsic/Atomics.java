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

/**
 * Atomic operations on an element of an array: read-modify-write operations, which are relaxed, and
 * loads and stores with a memory order.
 */
public final class Atomics {
  private static final String LOAD = "ld.";
  private static final String STORE = "st.";
  private static final Intrinsic.Signature WRITES_FIRST_INPUT =
      new Intrinsic.Signature(List.of(), List.of(), List.of(), Set.of(0));

  private Atomics() {}

  /**
   * Returns an atomic operation. Its inputs are the address and the operands; its result is the old
   * value, except for stores, which have none.
   *
   * @param operation the word in PTX, such as {@code add}, or an instruction and its memory order,
   *     such as {@code ld.acquire}
   */
  public static Intrinsic intrinsic(String operation, Space space, Element element) {
    var place = space.name().toLowerCase(Locale.ROOT);
    if (operation.startsWith(LOAD) || isStore(operation)) {
      return ordered(
          "%s.%s.%s.%s"
              .formatted(
                  operation,
                  space == Space.SHARED ? "cta" : "gpu",
                  place,
                  element.memory().word()));
    }
    var opcode = ".%s.%s.%s".formatted(place, operation, type(operation, element));
    return new Intrinsic(
            "atomic" + opcode,
            Effect.WRITE,
            (out, result, inputs) -> emit(opcode, operation, out, result, inputs))
        .with(WRITES_FIRST_INPUT);
  }

  /** Returns whether an operation only writes. */
  public static boolean isStore(String operation) {
    return operation.startsWith(STORE);
  }

  private static Intrinsic ordered(String opcode) {
    return isStore(opcode)
        ? new Intrinsic(
                opcode,
                Effect.WRITE,
                (out, _, inputs) -> out.emit(opcode, address(inputs), inputs.get(1)))
            .with(WRITES_FIRST_INPUT)
        : new Intrinsic(
            opcode,
            Effect.WRITE, // it may not move
            (out, result, inputs) ->
                out.emit(
                    opcode,
                    result instanceof Operand.Sink ? out.register(typeOf(opcode)) : result,
                    address(inputs)));
  }

  private static Operand.Address address(List<Operand> inputs) {
    return new Operand.Address(inputs.getFirst(), 0);
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
    var address = address(inputs);
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
