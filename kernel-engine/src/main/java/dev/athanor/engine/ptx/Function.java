package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Kernel.Parameter;
import java.util.List;

/**
 * A device function.
 *
 * @param linkage {@code extern}, {@code visible}, {@code weak}, or empty
 * @param results its return values
 * @param code its name, parameters and body; the body of one that is only declared is empty
 * @param isDefined whether it has a body
 * @param returns whether it comes back, which one that is {@code .noreturn} does not
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
