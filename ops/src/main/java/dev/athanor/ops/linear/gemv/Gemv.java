package dev.athanor.ops.linear.gemv;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.tile.Epilogue;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** The product of a matrix and a vector. */
public final class Gemv implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "gemv",
          "Computes the product of a matrix and a vector.",
          List.of(
              new Input(
                  "a",
                  "[M, K] or [K, M] with transposeA",
                  ProductDescription.NUMBERS,
                  false,
                  "the matrix"),
              new Input("x", "[K]", ProductDescription.NUMBERS, false, "the vector").like("a")),
          List.of(
              ProductDescription.transposeA("a is", "[K, M]"),
              ProductDescription.outDType("y", "")),
          List.of(Output.of("y", "[M]", "outDtype", "the product")),
          "y = a·x, " + ProductDescription.SUMS,
          "2·M·K");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return outputs(problem(inputs, attributes));
  }

  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var problem = problem(inputs, attributes);
    var outputs = outputs(problem);
    var candidates =
        new Candidates(
            "product of a matrix and a vector of " + problem.product().dtype().text(), capability);
    GemvPlanner.offer(problem, capability, candidates);
    double flops = 2.0 * problem.outputs() * problem.depth();
    return candidates.plans(outputs, Plan.Cost.of(flops, inputs, outputs));
  }

  private static Map<String, TensorType> outputs(GemvProblem problem) {
    return Map.of(
        "y", new TensorType(problem.product().epilogue().out(), Shape.of(problem.outputs())));
  }

  private static GemvProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var a = call.type("a");
    boolean transposeA = attributes.flag("transposeA");
    int depth = MatmulProblem.extent("a", a, transposeA ? 0 : 1);
    int outputs = MatmulProblem.extent("a", a, transposeA ? 1 : 0);
    return new GemvProblem(
        new Product(
            a.dtype(),
            transposeA && outputs > 1,
            false,
            Epilogue.plain(MatmulProblem.outDType(a.dtype(), attributes.choice("outDtype")))),
        Batch.of(Shape.of(), Shape.of()),
        outputs,
        depth,
        0,
        1,
        new GemvProblem.Names("a", "x", "y"));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var a = TensorReader.of(inputs, "a");
    var x = TensorReader.of(inputs, "x");
    boolean transposed = attributes.flag("transposeA");
    long n = x.elements();
    long rows = problem(HostTensor.types(inputs), attributes).outputs();
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            rows,
            i -> {
              double sum = 0;
              for (long j = 0; j < n; j++) {
                sum += a.get(transposed ? j * rows + i : i * n + j) * x.get(j);
              }
              return sum;
            }));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return GemvCases.of(random, quick);
  }
}
