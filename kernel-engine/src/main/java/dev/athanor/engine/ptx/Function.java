package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Kernel.Parameter;
import java.util.List;

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

  public String name() {
    return code.name();
  }
}
