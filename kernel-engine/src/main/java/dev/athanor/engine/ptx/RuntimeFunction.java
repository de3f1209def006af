package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.table.Row;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A function of CUDA's device runtime, which modules declare {@code .extern} and a driver links to
 * them. What they do is in the CUDA programming guide, under formatted output, assertion, and
 * dynamic global memory allocation.
 */
@SuppressWarnings("ImmutableEnumChecker") // a list that cannot be changed, and a record of such
public enum RuntimeFunction {
  /** {@code int vprintf(const char *format, void *arguments)}. */
  VPRINTF("vprintf", 4, 8, 8),
  /**
   * {@code void __assertfail(const char *message, const char *file, unsigned line, const char
   * *function, size_t charSize)}.
   */
  ASSERTFAIL("__assertfail", 0, 8, 8, 4, 8, 8),
  /** {@code void *malloc(size_t bytes)}. */
  MALLOC("malloc", 8, 8),
  /** {@code void free(void *block)}. */
  FREE("free", 0, 8);

  private final String symbol;
  private final int resultBytes;
  private final List<Integer> argumentBytes;
  private final InstructionForm form;

  RuntimeFunction(String symbol, int resultBytes, Integer... argumentBytes) {
    this.symbol = symbol;
    this.resultBytes = resultBytes;
    this.argumentBytes = List.of(argumentBytes);
    var slots = new ArrayList<String>();
    if (resultBytes > 0) {
      slots.add("[d]");
    }
    for (int i = 0; i < argumentBytes.length; i++) {
      slots.add("[" + (char) ('a' + i + (i < 3 ? 0 : 1)) + "]"); // d is the result
    }
    this.form =
        Row.row(
            "9.7.12.5",
            "1.0",
            20,
            symbol + " " + String.join(", ", slots),
            new Semantics.RuntimeCall(this));
  }

  /** The name that modules call it by. */
  public String symbol() {
    return symbol;
  }

  /** The bytes of its result; 0 = none. */
  public int resultBytes() {
    return resultBytes;
  }

  /** The bytes of each argument. */
  public List<Integer> argumentBytes() {
    return argumentBytes;
  }

  public static Optional<RuntimeFunction> of(String symbol) {
    return Arrays.stream(values()).filter(f -> f.symbol.equals(symbol)).findFirst();
  }

  /** The names of all, for error messages. */
  public static String symbols() {
    return Arrays.stream(values()).map(RuntimeFunction::symbol).collect(Collectors.joining(", "));
  }

  /** Whether a module declares the function as it is. */
  public boolean fits(Function declared) {
    return bytes(declared.results()).equals(resultBytes == 0 ? List.of() : List.of(resultBytes))
        && bytes(declared.code().parameters()).equals(argumentBytes);
  }

  private static List<Integer> bytes(List<Parameter> parameters) {
    return parameters.stream().map(Parameter::bytes).toList();
  }

  /** The declaration's sizes, for error messages. */
  public String signature() {
    return "%s takes arguments of %s bytes and returns %s"
        .formatted(
            symbol,
            argumentBytes.stream().map(String::valueOf).collect(Collectors.joining(", ")),
            resultBytes == 0 ? "nothing" : resultBytes + " bytes");
  }

  /**
   * The instruction that executes a call.
   *
   * @param results the local variables that take the results
   * @param arguments the local variables that hold the arguments
   */
  public Instruction call(Instruction written, List<Operand> results, List<Operand> arguments) {
    List<Operand> operands =
        Stream.concat(results.stream(), arguments.stream())
            .<Operand>map(variable -> new Operand.Address(variable, 0))
            .toList();
    return new Instruction(form, new Modifiers(List.of()), operands, null, written.source())
        .insteadOf(written);
  }
}
