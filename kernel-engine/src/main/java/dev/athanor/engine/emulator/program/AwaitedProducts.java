package dev.athanor.engine.emulator.program;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.flow.PendingProducts;
import dev.athanor.engine.ptx.table.Instructions;
import java.util.ArrayList;
import java.util.Set;

/** Waits for {@code wgmma} products whose registers a kernel uses too early, as ptxas does. */
final class AwaitedProducts {

  private AwaitedProducts() {}

  /**
   * Returns a kernel with these waits; the kernel itself if none is needed.
   *
   * @param added collects the waits
   */
  static Kernel in(Kernel kernel, Set<Instruction> added) {
    var early = PendingProducts.earlyUses(kernel);
    if (early.isEmpty()) {
      return kernel;
    }
    var body = new ArrayList<Statement>();
    for (int at = 0; at < kernel.body().size(); at++) {
      var statement = kernel.body().get(at);
      if (early.containsKey(at) && statement instanceof Instruction instruction) {
        var wait = Instructions.waitForProducts(instruction);
        added.add(wait);
        body.add(wait);
      }
      body.add(statement);
    }
    return kernel.withBody(body);
  }
}
