package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.Groups;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.linear.ShareSumVariant;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.persistent.PersistentProduct;
import dev.athanor.ops.tile.persistent.PersistentProduct.Repetition;
import java.util.ArrayList;
import java.util.List;

/**
 * The launches of products whose blocks are persistent.
 *
 * @param inputs the factors themselves, or copies with aligned rows
 * @param shares of K
 */
record PersistentLaunches(
    MatmulProblem problem, Padding inputs, PersistentVariant variant, Shares shares) {

  /**
   * Returns the launches, without those that pad inputs.
   *
   * @param clusters of a launch
   */
  List<Step> steps(long clusters) {
    var tile = variant.tile();
    var grid = Dim3.of(Math.toIntExact(clusters * tile.cluster()));
    var sums = new Slot.Workspace(inputs.workspaceBytes());
    var steps = new ArrayList<Step>();
    for (var start : problem.batch().starts()) {
      var c = ProductParameters.c(problem, start);
      var arguments = arguments(start, isSplit() ? sums : c);
      steps.add(new Step(variant, grid, tile.threads(), tile.sharedBytes(), arguments));
      if (isSplit()) {
        steps.add(sum(sums, c));
      }
    }
    return steps;
  }

  private boolean isSplit() {
    return variant.work() == PersistentVariant.Work.SHARES;
  }

  /** Returns the launch that adds the partial sums. */
  private Step sum(Slot sums, Slot c) {
    int count = Math.toIntExact(ProductParameters.elements(problem));
    return ShareSumVariant.of(
            Epilogue.type(variant.epilogue().out()), problem.epilogue(), problem.n())
        .step(sums, c, count, problem.n(), shares.count(), problem.alpha());
  }

  private Arguments arguments(Batch.Start start, Slot c) {
    return problem
        .groups()
        .map(groups -> ofGroups(groups, c))
        .orElseGet(() -> {
          var batch = problem.batch();
          long matrices = batch.productsPerLaunch() * shares.count();
          return arguments(start, c, problem.m(), matrices, batch.inner(), batch.outer());
        })
        .with(problem.scales())
        .with(variant.epilogue().arguments(problem.alpha()));
  }

  /** Returns the arguments of groups: a batch of all their matrices b, whose a and c are one. */
  private Arguments ofGroups(Groups groups, Slot c) {
    var start = new Batch.Start(0, 0, 0);
    var inner = new Batch.Loop(groups.count(), 0, 1);
    return arguments(start, c, groups.rows(), 1, inner, new Batch.Loop(1, 0, 0))
        .with(groups.sizes())
        .with("rows", c);
  }

  /**
   * Returns the arguments of products.
   *
   * @param m rows of a and c
   * @param matrices number of matrices of c
   */
  private Arguments arguments(
      Batch.Start start, Slot c, int m, long matrices, Batch.Loop inner, Batch.Loop outer) {
    var product = variant.product();
    var a = inputs.a();
    var b = inputs.b();
    var tensorA =
        product.tensorA(
            a.leadingDimension(),
            m,
            problem.k(),
            List.of(
                new Repetition(inner.count(), inner.strideA() * a.matrix()),
                new Repetition(outer.count(), outer.strideA() * a.matrix())));
    var tensorB =
        product.tensorB(
            b.leadingDimension(),
            problem.n(),
            problem.k(),
            List.of(
                new Repetition(inner.count(), inner.strideB() * b.matrix()),
                new Repetition(outer.count(), outer.strideB() * b.matrix())));
    var tensorC = PersistentProduct.tensorC(variant.epilogue().out(), m, problem.n(), matrices);
    var ofShares =
        isSplit()
            ? Arguments.NONE
                .with("shares", shares.count())
                .with("share", shares.stages() * product.depth())
            : Arguments.NONE;
    return ofShares
        .with("a", new Slot.Tensor(a.slot(start.a()), tensorA))
        .with("b", new Slot.Tensor(b.slot(start.b()), tensorB))
        .with("c", new Slot.Tensor(c, tensorC))
        .with("m", m)
        .with("n", problem.n())
        .with("k", problem.k())
        .with("products", Math.toIntExact(inner.count() * outer.count()))
        .with("inner", Math.toIntExact(inner.count()))
        .with("innerA", step(inner.strideA()))
        .with("innerB", step(inner.strideB()))
        .with("outerA", step(outer.strideA()))
        .with("outerB", step(outer.strideB()));
  }

  /** Returns the step of the index of a matrix that is repeated if its stride is 0. */
  private static int step(long stride) {
    return stride == 0 ? 0 : 1;
  }
}
