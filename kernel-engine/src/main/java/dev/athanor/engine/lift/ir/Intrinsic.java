package dev.athanor.engine.lift.ir;

import dev.athanor.engine.ptx.Operand;
import java.util.List;

/**
 * A method that has its own instructions on the device.
 *
 * @param name the Java method, such as {@code Gpu.barrier}
 */
public record Intrinsic(String name, Effect effect, Lowering lowering) {

  /** Emits the instructions of an intrinsic. */
  @FunctionalInterface
  public interface Lowering {
    /**
     * Emits instructions.
     *
     * @param result the register of the result; the sink {@code _} if there is none
     */
    void emit(Instructions out, Operand result, List<Operand> arguments);
  }

  @Override
  public String toString() {
    return name;
  }
}
