package dev.athanor.ops.expression;

import dev.athanor.ops.DType;
import java.util.List;
import java.util.stream.Collectors;

/**
 * An instruction of a {@link Program}.
 *
 * @param dtype of the result
 * @param computed the common dtype of the operands; of a cast, that of its operand
 * @param operands numbers of the instructions whose results it uses
 * @param index number of the input or of the literal; otherwise 0
 */
record Instruction(
    Function function, DType dtype, DType computed, List<Integer> operands, int index) {

  Instruction {
    operands = List.copyOf(operands);
  }

  static Instruction input(int index, DType dtype) {
    return new Instruction(Function.INPUT, dtype, dtype, List.of(), index);
  }

  static Instruction literal(int index, DType dtype) {
    return new Instruction(Function.LITERAL, dtype, dtype, List.of(), index);
  }

  /** Returns a text such as {@code bool >:f32(0 1)}. */
  String text() {
    var arguments =
        switch (function) {
          case INPUT, LITERAL -> Integer.toString(index);
          default -> operands.stream().map(String::valueOf).collect(Collectors.joining(" "));
        };
    return "%s %s:%s/%d(%s)"
        .formatted(dtype.text(), function.text(), computed.text(), function.operands(), arguments);
  }
}
