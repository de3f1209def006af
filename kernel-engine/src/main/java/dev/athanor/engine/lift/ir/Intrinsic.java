package dev.athanor.engine.lift.ir;

import dev.athanor.engine.ptx.Operand;
import java.util.List;
import java.util.Set;

/**
 * A method that has its own instructions on the device.
 *
 * @param name the Java method, such as {@code Gpu.barrier}
 */
public record Intrinsic(String name, Effect effect, Signature signature, Lowering lowering) {

  /**
   * How the inputs and results of a call become operands of the lowering.
   *
   * @param vectors for each argument of the lowering, the number of inputs that form a vector, or 0
   *     for a single input; empty if all inputs are single
   * @param results the types of the elements of a result that is a vector; empty if the call has
   *     one result or none
   * @param elements for each argument of the lowering, the number of elements that are accessed
   *     from an address on, or 0 if it is no address; empty if none is
   * @param written the inputs that are addresses of memory that the instructions write
   */
  public record Signature(
      List<Integer> vectors,
      List<Integer> elements,
      List<ValueType> results,
      Set<Integer> written) {
    private static final Signature SCALARS =
        new Signature(List.of(), List.of(), List.of(), Set.of());

    public Signature {
      vectors = List.copyOf(vectors);
      elements = List.copyOf(elements);
      results = List.copyOf(results);
      written = Set.copyOf(written);
    }
  }

  /** Emits the instructions of an intrinsic. */
  @FunctionalInterface
  public interface Lowering {
    /**
     * Emits instructions.
     *
     * @param result the register of the result, or a vector of registers; the sink {@code _} if
     *     there is none
     */
    void emit(Instructions out, Operand result, List<Operand> arguments);
  }

  /** Creates an intrinsic on single numbers that writes no memory through its arguments. */
  public Intrinsic(String name, Effect effect, Lowering lowering) {
    this(name, effect, Signature.SCALARS, lowering);
  }

  /** Returns the same intrinsic with other inputs and results. */
  public Intrinsic with(Signature other) {
    return new Intrinsic(name, effect, other, lowering);
  }

  @Override
  public String toString() {
    return name;
  }
}
