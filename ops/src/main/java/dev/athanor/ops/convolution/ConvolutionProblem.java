package dev.athanor.ops.convolution;

import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A checked convolution.
 *
 * @param images number of images
 * @param channels channels of x in a group
 * @param filters channels of y in a group
 * @param windows the window of each spatial dimension, outermost first
 * @param transposed whether it is a transposed convolution
 * @param tf32 whether f32 may be rounded to tf32
 */
record ConvolutionProblem(
    DType dtype,
    long images,
    int groups,
    int channels,
    int filters,
    List<Window> windows,
    boolean channelsLast,
    boolean transposed,
    boolean tf32,
    Epilogue epilogue) {

  ConvolutionProblem {
    windows = List.copyOf(windows);
  }

  /**
   * Returns the problem of a call.
   *
   * @throws OpException if the inputs or attributes do not fit together
   */
  static ConvolutionProblem of(
      Map<String, TensorType> inputs, Attributes attributes, boolean transposed) {
    boolean channelsLast = attributes.flag("channelsLast");
    var x = Images.of("x", Objects.requireNonNull(inputs.get("x")), channelsLast);
    var weight = Objects.requireNonNull(inputs.get("weight"));
    Checks.sameDType("x", x.type(), "weight", weight);
    if (weight.shape().rank() != x.type().shape().rank()) {
      throw new OpException.ShapeMismatch(
          "weight",
          "input \"weight\" has shape %s but x has shape %s; they must have the same number of dimensions"
              .formatted(weight.shape(), x.type().shape()));
    }
    var filters = new Images(weight, channelsLast);
    long groups = Math.min(attributes.integer("groups"), Integer.MAX_VALUE);
    long first = weight.shape().extent(0);
    long second = filters.channels();
    long channels = transposed ? first : second * groups;
    long outputs = transposed ? second * groups : first;
    if (x.channels() != channels || first % groups != 0) {
      throw new OpException.ShapeMismatch(
          "weight",
          "input \"weight\" has shape %s but x has %d channels and groups is %d; with these, weight has %s, and %s is a multiple of groups"
              .formatted(
                  weight.shape(),
                  x.channels(),
                  groups,
                  transposed
                      ? "%d for its first dimension".formatted(x.channels())
                      : "%d channels".formatted(x.channels() / groups),
                  transposed ? "that number" : "its first dimension"));
    }
    boolean tf32 = !transposed && attributes.choice("precision").equals("tf32");
    if (tf32 && x.dtype() != DType.F32) {
      throw new OpException.UnsupportedDType(
          "precision", "precision tf32 requires f32 inputs, got %s".formatted(x.dtype().text()));
    }
    var bias = Optional.ofNullable(inputs.get("bias"));
    bias.ifPresent(given -> requireBias(x.type(), given, outputs));
    var activation = Activation.of(attributes.choice("activation"));
    if (x.dtype() == DType.F64 && activation != Activation.NONE && activation != Activation.RELU) {
      throw new OpException.UnsupportedDType(
          "activation",
          "activation %s is not supported for f64; use none or relu".formatted(activation.text()));
    }
    Images.requireIndexable("x", x.type().shape(), 1);
    Images.requireIndexable("weight", weight.shape(), 0);
    var windows = windows(x, filters, attributes, transposed);
    return new ConvolutionProblem(
        x.dtype(),
        x.count(),
        (int) groups,
        (int) (channels / groups),
        (int) (outputs / groups),
        windows,
        channelsLast,
        transposed,
        tf32,
        new Epilogue(Epilogue.Scale.NONE, bias.map(TensorType::dtype), activation, x.dtype()));
  }

  private static void requireBias(TensorType x, TensorType bias, long outputs) {
    Checks.sameDType("x", x, "bias", bias);
    if (!bias.shape().equals(Shape.of(outputs))) {
      throw new OpException.ShapeMismatch(
          "bias",
          "input \"bias\" has shape %s but y has %d channels; bias must have shape [%d]"
              .formatted(bias.shape(), outputs, outputs));
    }
  }

  private static List<Window> windows(
      Images x, Images weight, Attributes attributes, boolean transposed) {
    int rank = x.rank();
    var strides = Window.values(attributes, "strides", rank, 1);
    var dilations = Window.values(attributes, "dilations", rank, 1);
    var before = Window.values(attributes, "before", rank, 0);
    var after = Window.values(attributes, "after", rank, 0);
    var more = transposed ? Window.values(attributes, "outputPadding", rank, 0) : after;
    var windows = new ArrayList<Window>();
    for (int i = 0; i < rank; i++) {
      var window =
          new Window(
              x.extent(i),
              weight.extent(i),
              strides.get(i),
              dilations.get(i),
              before.get(i),
              after.get(i),
              0);
      if (window.kernel() < 1) {
        throw new OpException.ShapeMismatch(
            "weight",
            "input \"weight\" has shape %s; a window needs at least one tap along each dimension"
                .formatted(weight.type().shape()));
      }
      windows.add(transposed ? window.enlarged(i, more.get(i)) : window.reduced(i, false));
    }
    return windows;
  }

  /** Returns the number of weights of a channel of x and one of y. */
  int taps() {
    return (int) Window.product(windows, Window::kernel);
  }

  /** Returns the distance from the first to the last tap, in elements of x with channels last. */
  double reach() {
    double pixels = 0;
    for (var window : windows) {
      pixels = pixels * window.in() + window.span() - 1;
    }
    return pixels * groups * channels;
  }

  /** Returns the number of pixels of an image of x. */
  int pixelsIn() {
    return (int) Window.product(windows, Window::in);
  }

  /** Returns the number of pixels of an image of y. */
  long pixelsOut() {
    return Window.product(windows, Window::out);
  }

  /** Returns the number of products that an element of y adds. */
  int depth() {
    return taps() * channels;
  }

  /** Returns whether tensor cores multiply the dtype with the requested precision. */
  boolean onTensorCores() {
    return dtype == DType.F16 || dtype == DType.BF16 || tf32;
  }

  /**
   * Returns the same convolution of tensors with channels last.
   *
   * @param all channels of x in a group, of which those that this has not are zeros
   */
  ConvolutionProblem withChannelsLast(int all) {
    return new ConvolutionProblem(
        dtype, images, groups, all, filters, windows, true, transposed, tf32, epilogue);
  }

  /** Returns the layout of a launch with one thread per element. */
  WindowVariant.Layout layout() {
    return new WindowVariant.Layout((int) images, groups, filters, channels, windows, channelsLast);
  }

  TensorType output() {
    var spatial = windows.stream().map(Window::out).toList();
    return Checks.output(
        "y", dtype, Images.shape(images, (long) groups * filters, spatial, channelsLast));
  }

  /** Returns the cost; that of a transposed convolution counts the products of each x. */
  Plan.Cost cost(Map<String, TensorType> inputs) {
    double products =
        (double) images
            * groups
            * filters
            * channels
            * taps()
            * (transposed ? pixelsIn() : pixelsOut());
    return Plan.Cost.of(2 * products, inputs, Map.of("y", output()));
  }
}
