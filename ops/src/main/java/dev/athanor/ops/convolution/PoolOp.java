package dev.athanor.ops.convolution;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.convolution.Pooling.Kind;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/** The maximum or mean of windows along one to three spatial dimensions, as ONNX's pools. */
public final class PoolOp implements SampledOp {

  private static final String PADDED = "countPadding";

  /** Instructions of a thread per tap: its positions, their limits and a load. */
  private static final double TAP_INSTRUCTIONS = 20;

  private static final int REGISTERS = 40;

  private static final List<String> CASES =
      List.of(
          "x=[1,1,1] kernel=1",
          "x=[2,3,17] kernel=4 strides=3 before=2 ceil=true",
          "x=[1,5,7,9] kernel=3,2 strides=2,1 before=1,0 after=1,1",
          "x=[2,8,6,5] kernel=2,3 strides=2,2 after=0,1 ceil=true channelsLast=true",
          "x=[1,8,6,3] kernel=2,2 dilations=3,2 channelsLast=true",
          "x=[2,2,4,3,5] kernel=2,3,2 strides=1,2,2 before=1,1,0 after=0,1,1 ceil=true",
          "x=[1,2,5,4,3] kernel=5,4,3");

  private final Kind kind;
  private final boolean indexed;
  private final OpDescription description;

  private PoolOp(Kind kind, boolean indexed) {
    this.kind = kind;
    this.indexed = indexed;
    boolean mean = kind == Kind.MEAN;
    var attributes = new ArrayList<Attribute>();
    attributes.add(Window.attribute("kernel", "elements of a window; by default those of x", 1));
    attributes.addAll(Window.ATTRIBUTES);
    attributes.add(
        Attribute.flag(
            "ceil", "whether the last window may end after the padding, if it begins before it"));
    if (mean) {
      attributes.add(
          Attribute.flag(PADDED, "whether the positions in the padding count in the divisor"));
    }
    attributes.add(Images.CHANNELS_LAST);
    var what = mean ? "mean" : "maximum";
    description =
        new OpDescription(
            kind.text() + "-pool" + (indexed ? "-with-indices" : ""),
            "Computes the %s of each window%s, along one to three spatial dimensions."
                .formatted(what, indexed ? " and its index" : ""),
            List.of(
                new Input(
                    "x",
                    Images.SHAPES,
                    ProductDescription.NUMBERS,
                    false,
                    "the images; [N, …, C] with channelsLast")),
            attributes,
            outputs(indexed),
            "y[n, c, p] = the %s of x[n, c, p·stride − before + t·dilation] over the taps t that are"
                    .formatted(what)
                + " in x"
                + (mean
                    ? ", added in f32 (f64 for f64); NaN if there are none"
                    : "; NaN if one is NaN, and −∞ if there are none"),
            "taps per element of y");
  }

  /** Returns the ops, which share their kernels. */
  public static List<Op> all() {
    return List.of(
        new PoolOp(Kind.MAXIMUM, false),
        new PoolOp(Kind.MAXIMUM, true),
        new PoolOp(Kind.MEAN, false));
  }

  private static List<Output> outputs(boolean indexed) {
    var y = Output.of("y", "[N, C, …]", "same as x", "the result; [N, …, C] with channelsLast");
    var indices =
        Output.of(
            Pooling.INDICES,
            "[N, C, …]",
            "i64",
            "the index of each maximum among the pixels of its image, as in PyTorch: of the first"
                + " one, or of the last NaN; -1 if nothing exceeds −∞");
    return indexed ? List.of(y, indices) : List.of(y);
  }

  @Override
  public OpDescription description() {
    return description;
  }

  private List<Window> windows(Images x, Attributes attributes) {
    int rank = x.rank();
    var windows = new ArrayList<Window>();
    for (int i = 0; i < rank; i++) {
      long kernel =
          attributes.has("kernel")
              ? Window.values(attributes, "kernel", rank, 1).get(i)
              : Math.max(1, x.extent(i));
      windows.add(
          new Window(
                  x.extent(i),
                  kernel,
                  Window.values(attributes, "strides", rank, 1).get(i),
                  Window.values(attributes, "dilations", rank, 1).get(i),
                  Window.values(attributes, "before", rank, 0).get(i),
                  Window.values(attributes, "after", rank, 0).get(i),
                  0)
              .reduced(i, attributes.flag("ceil")));
    }
    return windows;
  }

  private Images x(Map<String, TensorType> inputs, Attributes attributes) {
    var x =
        Images.of("x", Objects.requireNonNull(inputs.get("x")), attributes.flag("channelsLast"));
    Images.requireIndexable("x", x.type().shape(), 1);
    return x;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs, attributes);
    var spatial = windows(x, attributes).stream().map(Window::out).toList();
    var shape = Images.shape(x.count(), x.channels(), spatial, x.channelsLast());
    var outputs = new LinkedHashMap<String, TensorType>();
    outputs.put("y", Checks.output("y", x.dtype(), shape));
    if (indexed) {
      outputs.put(Pooling.INDICES, Checks.output(Pooling.INDICES, DType.I64, shape));
    }
    return outputs;
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = x(inputs, attributes);
    var outputs = outputs(inputs, attributes);
    var output = Objects.requireNonNull(outputs.get("y"));
    Checks.requireThreads("x", x.type(), output.shape().elements());
    var windows = windows(x, attributes);
    var function =
        new Pooling(
            kind, Epilogue.type(x.dtype()), kind == Kind.MEAN && attributes.flag(PADDED), indexed);
    var layout =
        new WindowVariant.Layout(
            (int) x.count(), (int) x.channels(), 1, 1, windows, x.channelsLast());
    var step = new WindowVariant(function, x.rank()).step(layout, function.arguments(windows));
    double taps = Window.product(windows, Window::kernel);
    var cost = Plan.Cost.of(taps * output.shape().elements(), inputs, outputs);
    var candidates =
        new Candidates("%s of %s".formatted(description.name(), x.dtype().text()), capability);
    var machine = Machine.of(capability);
    double warps = WindowVariant.THREADS / (double) KernelBuilder.WARP;
    double bytes = (double) WindowVariant.THREADS * x.dtype().bytes();
    var work =
        new BlockWork(
            WindowVariant.THREADS,
            REGISTERS,
            0,
            machine.issueCycles(warps * taps * TAP_INSTRUCTIONS),
            0,
            (taps + 1) * bytes,
            bytes);
    long blocks = step.grid().count();
    candidates.offer(
        machine.microseconds(blocks, work, cost.bytes()), "%d blocks".formatted(blocks), step);
    return candidates.plans(outputs, cost);
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.of(new Rows(Set.of("x")));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var types = HostTensor.types(inputs);
    var images = x(types, attributes);
    var windows = windows(images, attributes);
    var x = TensorReader.of(inputs, "x");
    var from = Pixels.of(windows, Window::in, images.channels(), images.channelsLast());
    var to = Pixels.of(windows, Window::out, images.channels(), images.channelsLast());
    var taps = Pixels.of(windows, Window::kernel, 1, false);
    boolean padded = kind == Kind.MEAN && attributes.flag(PADDED);
    long elements = Objects.requireNonNull(outputs(types, attributes).get("y")).shape().elements();
    Reduction reduction =
        index -> {
          double result = kind == Kind.MEAN ? 0 : Double.NEGATIVE_INFINITY;
          long pixelOfMost = Pooling.NONE;
          long count = 0;
          for (long tap = 0; tap < taps.count(); tap++) {
            var at = to.place(to.pixel(index));
            boolean counts = padded;
            for (int i = 0; i < at.length; i++) {
              var window = windows.get(i);
              at[i] = window.at(at[i], taps.place(tap)[i]);
              counts &= at[i] < window.in() + window.after();
            }
            long pixel = from.pixel(at);
            if (pixel >= 0) {
              double value = x.get(from.index(to.image(index), to.channel(index), pixel));
              if (kind == Kind.MEAN) {
                result += value;
              } else if (value > result || Double.isNaN(value)) {
                result = value;
                pixelOfMost = pixel;
              }
            }
            count += counts || pixel >= 0 ? 1 : 0;
          }
          return kind == Kind.MEAN
              ? new Reduced(result / count, pixelOfMost)
              : new Reduced(result, pixelOfMost);
        };
    var references = new LinkedHashMap<String, ReferenceOutput>();
    references.put("y", ReferenceOutput.ofElements(elements, i -> reduction.of(i).value));
    if (indexed) {
      references.put(
          Pooling.INDICES, ReferenceOutput.ofElements(elements, i -> reduction.of(i).pixel));
    }
    return references;
  }

  /** A result, and the pixel of a maximum. */
  private record Reduced(double value, long pixel) {}

  /** Computes an element of y. */
  @FunctionalInterface
  private interface Reduction {
    Reduced of(long index);
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return kind == Kind.MAXIMUM
        ? Tolerance.exact()
        : dtype.bytes() < 4 ? Tolerance.usual(dtype) : ProductDescription.tolerance(dtype, 64);
  }

  private Map<String, Tolerance> tolerances(Problem problem) {
    return outputs(problem.inputs(), problem.attributes()).entrySet().stream()
        .collect(
            Collectors.toMap(
                Map.Entry::getKey,
                output ->
                    tolerance(
                        output.getKey(),
                        output.getValue().dtype(),
                        problem.inputs(),
                        problem.attributes())));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    var dtypes = List.of(DType.F32, DType.F16, DType.BF16, DType.F64);
    for (var text : quick ? CASES.subList(1, 4) : CASES) {
      for (int i = 0; i < (quick ? 1 : 4); i++) {
        var dtype = dtypes.get(cases.size() % dtypes.size());
        var padded = kind == Kind.MEAN && cases.size() % 3 == 1 ? " countPadding=true" : "";
        var problem =
            Problem.parse(this, text.replace("=[", "=%s[".formatted(dtype.text())) + padded);
        var type = Objects.requireNonNull(problem.inputs().get("x"));
        cases.add(
            new Case(
                Map.of("x", new Draw(random).normal(0, 1, type)),
                problem.attributes(),
                tolerances(problem)));
      }
    }
    return cases;
  }
}
