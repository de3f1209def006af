package dev.athanor.engine.ptx;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A function of CUDA's device runtime, which modules declare {@code .extern} and a driver links to
 * them. The CUDA programming guide defines them under formatted output, assertion, and dynamic
 * global memory allocation.
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

  RuntimeFunction(String symbol, int resultBytes, Integer... argumentBytes) {
    this.symbol = symbol;
    this.resultBytes = resultBytes;
    this.argumentBytes = List.of(argumentBytes);
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

  /** Whether a declaration has the function's sizes, in bytes. */
  public boolean fits(List<Integer> results, List<Integer> arguments) {
    return results.equals(resultBytes == 0 ? List.of() : List.of(resultBytes))
        && arguments.equals(argumentBytes);
  }

  /** The declaration's sizes, for error messages. */
  public String signature() {
    return "%s takes arguments of %s bytes and returns %s"
        .formatted(
            symbol,
            argumentBytes.stream().map(String::valueOf).collect(Collectors.joining(", ")),
            resultBytes == 0 ? "nothing" : resultBytes + " bytes");
  }
}
