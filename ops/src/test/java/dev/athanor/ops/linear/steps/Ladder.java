package dev.athanor.ops.linear.steps;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import java.util.List;
import java.util.Map;

/** The steps, from the definition of a product to the techniques of the fast kernels. */
public final class Ladder {

  private static final List<LadderStep> STEPS =
      List.of(
          new Naive(),
          new SharedTiles(),
          new RegisterTiles(),
          new VectorLoads(),
          new AsyncCopies(),
          new TensorCores(),
          new MatrixLoads(),
          new Pipeline());

  private Ladder() {}

  /** Returns the steps, the slowest first. */
  public static List<LadderStep> steps() {
    return STEPS;
  }

  /** Returns the inputs of a step's plan. */
  public static Map<String, TensorType> inputs(int m, int n, int k) {
    return Map.of("a", TensorType.of(DType.F16, m, k), "b", TensorType.of(DType.F16, k, n));
  }

  /** Returns the type of c. */
  static TensorType output(int m, int n) {
    return TensorType.of(DType.F32, m, n);
  }
}
