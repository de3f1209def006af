package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Variant;
import java.util.List;
import java.util.Map;

/**
 * One way to multiply f16 matrices a[M, K] and b[K, N] to an f32 c[M, N]. To show only the idea of
 * a step, sizes are whole tiles and edges are not handled; the kernels of matmul show how that is
 * done.
 */
public interface LadderStep {

  /** M and N are multiples of this. */
  int TILE = 64;

  /** K is a multiple of this. */
  int DEPTH = 32;

  /** Returns the name: a word or two, in kebab case. */
  String name();

  /** Returns a sentence about what is new and why. */
  String summary();

  /** Returns the threads of a block. */
  int threads();

  /** Returns the rows of c that a block computes. */
  default int tileM() {
    return TILE;
  }

  /** Returns the columns of c that a block computes. */
  default int tileN() {
    return TILE;
  }

  /** Returns the bytes of dynamic shared memory. */
  default int sharedBytes() {
    return 0;
  }

  /** Writes the kernel. */
  void write(KernelBuilder k, Matrices matrices);

  /**
   * Returns the plan that multiplies a[m, k] and b[k, n].
   *
   * @throws OpException.ShapeMismatch if a size is not a multiple of the tile's
   */
  default LaunchPlan plan(int m, int n, int k) {
    if (m < 1 || n < 1 || k < 1 || m % TILE != 0 || n % TILE != 0 || k % DEPTH != 0) {
      throw new OpException.ShapeMismatch(
          "shape",
          "the steps of the ladder multiply whole tiles: m and n are multiples of %d and k of %d, got %d, %d and %d"
              .formatted(TILE, DEPTH, m, n, k));
    }
    var types = Ladder.inputs(m, n, k);
    var outputs = Map.of("c", Ladder.output(m, n));
    var variant = new LadderVariant(this);
    var step =
        new Step(
            variant,
            Dim3.of(n / tileN(), m / tileM()),
            threads(),
            sharedBytes(),
            Arguments.ofInputs("a", "b").outputs("c").with("n", n).with("k", k));
    return new LaunchPlan(
        variant.name(),
        outputs,
        List.of(step),
        0,
        Plan.Cost.of(2.0 * m * n * k, types, outputs),
        summary());
  }

  /** The kernel of a step. */
  record LadderVariant(LadderStep step) implements Variant {

    @Override
    public String name() {
      return "matmul_step_" + step.name().replace('-', '_');
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(name(), step.threads(), k -> step.write(k, new Matrices(k, step)));
    }
  }
}
