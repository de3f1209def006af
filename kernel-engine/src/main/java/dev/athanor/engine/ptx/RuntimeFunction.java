package dev.athanor.engine.ptx;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A function of the CUDA device runtime. Modules declare it {@code .extern}, and the driver links
 * it. See formatted output, assertion and dynamic global memory allocation in the CUDA programming
 * guide.
 */
@SuppressWarnings("ImmutableEnumChecker") // an immutable list
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

  /** Returns the name in PTX. */
  public String symbol() {
    return symbol;
  }

  /** Returns the size of the result in bytes; 0 if there is none. */
  public int resultBytes() {
    return resultBytes;
  }

  /** Returns the size of each argument in bytes. */
  public List<Integer> argumentBytes() {
    return argumentBytes;
  }

  public static Optional<RuntimeFunction> of(String symbol) {
    return Arrays.stream(values()).filter(f -> f.symbol.equals(symbol)).findFirst();
  }

  /** Returns all names, for error messages. */
  public static String symbols() {
    return Arrays.stream(values()).map(RuntimeFunction::symbol).collect(Collectors.joining(", "));
  }

  /** Returns whether a declaration has the function's sizes, in bytes. */
  public boolean matches(List<Integer> results, List<Integer> arguments) {
    return results.equals(resultBytes == 0 ? List.of() : List.of(resultBytes))
        && arguments.equals(argumentBytes);
  }

  /** Returns the sizes of arguments and result, for error messages. */
  public String signature() {
    return "%s takes arguments of %s bytes and returns %s"
        .formatted(
            symbol,
            argumentBytes.stream().map(String::valueOf).collect(Collectors.joining(", ")),
            resultBytes == 0 ? "nothing" : resultBytes + " bytes");
  }
}
