package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Kernel.Parameter;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A device function.
 *
 * @param linkage {@code extern}, {@code visible}, {@code weak}, or empty
 * @param results return values
 * @param code name, parameters and body; the body of a declaration is empty
 * @param isDefined whether the function has a body
 * @param returns whether the function returns; false for {@code .noreturn}
 */
public record Function(
    String linkage, List<Parameter> results, Kernel code, boolean isDefined, boolean returns) {
  public Function {
    results = List.copyOf(results);
  }

  /** Returns the declaration that lets a module call a function of the device runtime. */
  public static Function declaration(RuntimeFunction of) {
    var sizes = of.argumentBytes();
    var arguments =
        IntStream.range(0, sizes.size())
            .mapToObj(i -> parameter("argument" + i, sizes.get(i)))
            .toList();
    var results =
        of.resultBytes() == 0
            ? List.<Parameter>of()
            : List.of(parameter("result", of.resultBytes()));
    var head = new Kernel(of.symbol(), arguments, List.of(), 0, 0, List.of());
    return new Function("extern", results, head, false, true);
  }

  private static Parameter parameter(String name, int bytes) {
    return new Parameter(name, bytes == Integer.BYTES ? Type.B32 : Type.B64);
  }

  public String name() {
    return code.name();
  }
}
