package dev.athanor.ops.convolution;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * A convolution, or a transposed one, along one to three spatial dimensions, as ONNX's Conv and
 * ConvTranspose and PyTorch's modules.
 */
public final class ConvolutionOp implements SampledOp {

  /** The relative tolerance of products with factors rounded to tf32. */
  private static final double TF32_TOLERANCE = 1e-3;

  private final boolean transposed;
  private final OpDescription description;

  public ConvolutionOp(boolean transposed) {
    this.transposed = transposed;
    var attributes = new ArrayList<>(Window.ATTRIBUTES);
    if (transposed) {
      attributes.add(
          Window.attribute(
              "outputPadding", "elements that y has more at its end; 0 if omitted", 0));
    }
    attributes.add(
        Attribute.integer(
                "groups", 1, "number of groups of channels, each of which has its own weights")
            .from(1, Double.POSITIVE_INFINITY));
    attributes.add(
        Attribute.choice(
            "activation",
            "none",
            Activation.names(Activation.EPILOGUES),
            "activation function, applied after the bias"));
    attributes.add(Images.CHANNELS_LAST);
    if (!transposed) {
      attributes.add(
          Attribute.choice(
              "precision",
              "ieee",
              List.of("ieee", "tf32"),
              "precision of f32 factors. ieee: full f32. tf32: rounded to 11 significant"
                  + " bits, for tensor cores"));
    }
    description =
        new OpDescription(
            transposed ? "convolution-transpose" : "convolution",
            (transposed ? "Computes a transposed convolution" : "Computes a convolution")
                + " along one to three spatial dimensions, adds a bias and applies an activation"
                + " function.",
            List.of(
                new Input(
                    "x",
                    Images.SHAPES,
                    ProductDescription.NUMBERS,
                    false,
                    "the images; [N, …, C] with channelsLast"),
                new Input(
                        "weight",
                        weightShapes(transposed),
                        ProductDescription.NUMBERS,
                        false,
                        "the weights; %s with channelsLast"
                            .formatted(transposed ? "[C, …, O/groups]" : "[O, …, C/groups]"))
                    .or("w")
                    .like("x"),
                new Input(
                        "bias",
                        "[O]",
                        ProductDescription.NUMBERS,
                        true,
                        "the bias of each channel of y")
                    .like("x")),
            attributes,
            List.of(
                Output.of(
                    "y", "[N, O, …]", "same as x", "the result; [N, …, O] with channelsLast")),
            transposed
                ? "y[n, o, p] = activation(Σ x[n, c, i] · weight[c, o, t] + bias[o]) over the"
                    + " channels c of the group of o and the positions i and taps t with p = i·stride"
                    + " − before + t·dilation along each dimension, "
                    + ProductDescription.SUMS
                    + "; y has (I − 1)·stride + (T − 1)·dilation + 1 + outputPadding − before −"
                    + " after elements along a dimension"
                : "y[n, o, p] = activation(Σ x[n, c, p·stride − before + t·dilation] · weight[o, c,"
                    + " t] + bias[o]) over the channels c of the group of o and the taps t, "
                    + ProductDescription.SUMS
                    + "; x is 0 in the padding. y has ⌊(before + I + after − (T − 1)·dilation −"
                    + " 1)/stride⌋ + 1 elements along a dimension",
            "2·C/groups·taps per element of " + (transposed ? "x and channel of y" : "y"));
  }

  @Override
  public OpDescription description() {
    return description;
  }

  private static String weightShapes(boolean transposed) {
    var channels = transposed ? "C, O/groups" : "O, C/groups";
    return "[%1$s, T] or [%1$s, Th, Tw] or [%1$s, Td, Th, Tw]".formatted(channels);
  }

  private ConvolutionProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    return ConvolutionProblem.of(inputs, attributes, transposed);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", problem(inputs, attributes).output());
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var problem = problem(inputs, attributes);
    var x = Objects.requireNonNull(inputs.get("x"));
    Checks.requireThreads("x", x, problem.output().shape().elements());
    return ConvolutionPlanner.plans(problem, inputs, capability);
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.of(new Rows(Set.of("x")));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    return Map.of(
        "y", ConvolutionReference.of(problem(HostTensor.types(inputs), attributes), inputs));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    var problem = problem(inputs, attributes);
    return problem.tf32()
        ? Tolerance.relative(TF32_TOLERANCE)
        : ProductDescription.tolerance(dtype, problem.depth());
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return ConvolutionCases.of(this, transposed, random, quick);
  }
}
