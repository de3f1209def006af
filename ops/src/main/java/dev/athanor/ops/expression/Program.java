package dev.athanor.ops.expression;

import dev.athanor.ops.DType;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A typed expression without the values of its literals, so that expressions that differ only in
 * numbers share a kernel. Equal subexpressions are one instruction.
 *
 * @param code instructions, each after those it uses; the last gives the result
 * @param inputs dtypes of the operands
 * @param output dtype to which the result is converted
 */
record Program(List<Instruction> code, List<DType> inputs, DType output) {

  Program {
    code = List.copyOf(code);
    inputs = List.copyOf(inputs);
  }

  Instruction result() {
    return code.getLast();
  }

  /** Returns the literals in the order of their numbers. */
  List<Instruction> literals() {
    return code.stream().filter(each -> each.function() == Function.LITERAL).toList();
  }

  /** Returns whether all floats are computed in f64. */
  boolean isDouble() {
    return code.stream()
        .noneMatch(each -> each.computed().isFloat() && each.computed() != DType.F64);
  }

  /** Returns the approximate number of GPU instructions for an element. */
  int instructions() {
    return code.stream()
        .mapToInt(each -> each.function().instructions() * (each.computed() == DType.I64 ? 3 : 1))
        .sum();
  }

  /** Returns the number of operations for an element. */
  long operations() {
    return code.stream().filter(each -> !each.operands().isEmpty()).count();
  }

  /** Returns a name that encodes the program: a hash of its text. */
  String hash() {
    var text =
        code.stream().map(Instruction::text).collect(Collectors.joining("\n"))
            + inputs
            + output.text();
    try {
      var digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
