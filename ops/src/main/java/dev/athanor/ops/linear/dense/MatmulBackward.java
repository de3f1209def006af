package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/** The gradients of a matrix product: two products, planned like any other. */
public final class MatmulBackward implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "matmul-backward",
          "Computes the gradients of a matrix product with respect to its factors.",
          List.of(
              new Input(
                  "grad",
                  "[…, M, N]",
                  ProductDescription.NUMBERS,
                  false,
                  "the gradient with respect to the product"),
              ProductDescription.left(ProductDescription.NUMBERS),
              ProductDescription.right(
                  ProductDescription.NUMBERS, "; as many matrices as a, or one for all")),
          List.of(
              ProductDescription.transposeA("a and da are", "[…, K, M]"),
              ProductDescription.transposeB("b and db are")),
          List.of(
              Output.of("da", "same as a", "same as a", "the gradient with respect to a"),
              Output.of("db", "same as b", "same as a", "the gradient with respect to b")),
          "da = grad·bᵀ, db = aᵀ·grad, summed over the matrices that share b; "
              + ProductDescription.SUMS,
          "4·M·N·K per product");

  /**
   * A product that computes a gradient.
   *
   * @param a the input used as the left factor
   * @param b the input used as the right factor
   * @param shapeA the shape of the left factor in the product
   * @param output the gradient
   */
  private record Factor(
      String a,
      String b,
      Shape shapeA,
      Shape shapeB,
      boolean transposeA,
      boolean transposeB,
      String output,
      TensorType type) {

    List<LaunchPlan> plans(DType dtype, Capability capability) {
      var types = Map.of("a", new TensorType(dtype, shapeA), "b", new TensorType(dtype, shapeB));
      var attributes =
          Attributes.of(
              new Matmul().description(),
              Map.of("transposeA", transposeA, "transposeB", transposeB, "outDtype", dtype.text()));
      return MatmulPlanner.plans(Matmul.problem(types, attributes), capability);
    }

    /** Returns the steps of a plan of this product, bound to the tensors of the op. */
    List<Step> steps(LaunchPlan plan) {
      return plan.steps().stream().map(step -> step.map(this::slot)).toList();
    }

    private Slot slot(Slot slot) {
      return switch (slot) {
        case Slot.Input(var name, var offset) -> new Slot.Input(name.equals("a") ? a : b, offset);
        case Slot.Output(_, var offset) -> new Slot.Output(output, offset);
        default -> slot;
      };
    }
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var outputs = new HashMap<String, TensorType>();
    factors(inputs, attributes).forEach(factor -> outputs.put(factor.output, factor.type));
    return outputs;
  }

  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var factors = factors(inputs, attributes);
    var dtype = Objects.requireNonNull(inputs.get("a")).dtype();
    var outputs = outputs(inputs, attributes);
    var first = factors.getFirst().plans(dtype, capability);
    var second = factors.getLast().plans(dtype, capability);
    double flops = first.getFirst().cost().flops() + second.getFirst().cost().flops();
    var cost = Plan.Cost.of(flops, inputs, outputs);
    var plans = new ArrayList<LaunchPlan>();
    // the two products are independent: combine the best plans, the second-best plans, and so on
    for (int i = 0; i < Math.max(first.size(), second.size()); i++) {
      var da = first.get(Math.min(i, first.size() - 1));
      var db = second.get(Math.min(i, second.size() - 1));
      var steps = new ArrayList<>(factors.getFirst().steps(da));
      steps.addAll(factors.getLast().steps(db));
      plans.add(
          new LaunchPlan(
              da.kernel() + "+" + db.kernel(),
              outputs,
              steps,
              // the second product starts after the first, so they share the workspace
              Math.max(da.workspaceBytes(), db.workspaceBytes()),
              cost,
              "da: %s\ndb: %s".formatted(da.explain(), db.explain())));
    }
    return plans;
  }

  /** Returns the products for da and db. */
  private static List<Factor> factors(Map<String, TensorType> inputs, Attributes attributes) {
    var grad = Objects.requireNonNull(inputs.get("grad"));
    var a = Objects.requireNonNull(inputs.get("a"));
    var b = Objects.requireNonNull(inputs.get("b"));
    boolean transposeA = attributes.flag("transposeA");
    boolean transposeB = attributes.flag("transposeB");
    var product =
        Matmul.problem(
            Map.of("a", a, "b", b),
            Attributes.of(
                new Matmul().description(),
                Map.of("transposeA", transposeA, "transposeB", transposeB)));
    if (!grad.shape().equals(product.output().shape())) {
      throw new OpException.ShapeMismatch(
          "grad",
          "grad has shape %s; the product of a %s and b %s has %s"
              .formatted(grad.shape(), a.shape(), b.shape(), product.output().shape()));
    }
    MatmulProblem.requireSame("grad", grad.dtype(), "a", a.dtype(), "grad");
    var shapeA = a.shape();
    var shapeGrad = grad.shape();
    if (!shapeA.leading(2).equals(b.shape().leading(2))) {
      if (b.shape().leading(2).elements() != 1 || transposeA) {
        throw new OpException.ShapeMismatch(
            "b",
            ("the leading dimensions %s of a and %s of b differ; this is supported only if"
                    + " b is a single matrix and a is not transposed")
                .formatted(shapeA.leading(2), b.shape().leading(2)));
      }
      // concatenate the rows of all left matrices; the product over M sums them
      long rows = shapeA.leading(1).elements();
      shapeA = Shape.of(rows, product.k());
      shapeGrad = Shape.of(rows, product.n());
    }
    var shapeB =
        shapeA.rank() == 2 ? Shape.of(b.shape().extent(-2), b.shape().extent(-1)) : b.shape();
    var da =
        transposeA
            ? new Factor("b", "grad", shapeB, shapeGrad, transposeB, true, "da", a)
            : new Factor("grad", "b", shapeGrad, shapeB, false, !transposeB, "da", a);
    var db =
        transposeB
            ? new Factor("grad", "a", shapeGrad, shapeA, true, transposeA, "db", b)
            : new Factor("a", "grad", shapeA, shapeGrad, !transposeA, false, "db", b);
    return List.of(da, db);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    return MatmulBackwardReference.gradients(inputs, attributes);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return MatmulBackwardCases.of(random, quick);
  }
}
