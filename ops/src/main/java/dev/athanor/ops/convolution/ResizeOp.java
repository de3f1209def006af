package dev.athanor.ops.convolution;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.convolution.Resampling.Filter;
import dev.athanor.ops.convolution.SamplePositions.Coordinates;
import dev.athanor.ops.convolution.SamplePositions.Rounding;
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
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/** The interpolation of images at other extents, as ONNX's Resize. */
public final class ResizeOp implements SampledOp {

  /** Instructions of a thread per tap: its weight, its limits and a load. */
  private static final double TAP_INSTRUCTIONS = 20;

  /** Instructions of a thread per spatial dimension: the divisions of the position. */
  private static final double POSITION_INSTRUCTIONS = 30;

  private static final int REGISTERS = 40;

  private static final double LEAST_SCALE = 0x1p-31;
  private static final double GREATEST_SCALE = 0x1p31;
  private static final long MOST_TAPS = Integer.MAX_VALUE - 1024;

  private static final List<String> CASES =
      List.of(
          "x=[1,1,1] sizes=1",
          "x=[2,3,17] sizes=40 mode=linear",
          "x=[1,5,7,9] scales=0.6,1.7 mode=cubic",
          "x=[2,8,6,5] sizes=3,11 mode=linear coordinates=align-corners channelsLast=true",
          "x=[1,3,9,16] sizes=4,5 mode=linear antialias=true",
          "x=[1,8,6,3] sizes=7,2 mode=cubic antialias=true channelsLast=true",
          "x=[2,2,4,3,5] scales=1.5,2,0.5 mode=linear coordinates=half-pixel-symmetric",
          "x=[1,2,5,4,3] sizes=3,5,4 mode=cubic excludeOutside=true cubicCoefficient=-0.5",
          "x=[1,3,1,6] sizes=4,1 mode=cubic coordinates=pytorch-half-pixel",
          "x=[3,2,5,7] sizes=3,17 rounding=floor coordinates=asymmetric channelsLast=true",
          "x=[3,2,8,7] sizes=4,21 rounding=ceil",
          "x=[2,5,8,6] sizes=4,3 rounding=round-prefer-ceil",
          "x=[2,5,8,6] scales=0.5,2.5 rounding=round-prefer-floor coordinates=align-corners",
          "x=[2,3,211] scales=0.9999999 mode=linear",
          "x=[2,3,211] scales=0.9999999",
          "x=[1,2,5,8,9] sizes=2,3,4 mode=linear antialias=true excludeOutside=true");

  private final OpDescription description =
      new OpDescription(
          "resize",
          "Interpolates images at other extents, along one to three spatial dimensions.",
          List.of(
              new Input(
                  "x",
                  Images.SHAPES,
                  ProductDescription.NUMBERS,
                  false,
                  "the images; [N, …, C] with channelsLast")),
          List.of(
              Window.attribute("sizes", "extent of y; omit it if scales are given", 1),
              Attribute.numbers(
                  "scales",
                  "for each spatial dimension, the extent of y relative to that of x, rounded down;"
                      + " taken as a fraction that equals it in f32. By default sizes / extents of x"),
              Attribute.choice(
                  "mode",
                  "nearest",
                  Choices.names(Filter.class),
                  "elements of x that contribute: the nearest one, or 2 (linear) or 4 (cubic) along"
                      + " each dimension"),
              Attribute.choice(
                  "coordinates",
                  "half-pixel",
                  Choices.names(Coordinates.class),
                  "position of element o of y in x, the coordinate_transformation_mode of ONNX."
                      + " half-pixel: (o + ½) / scale − ½. asymmetric: o / scale. align-corners: o ·"
                      + " (extent − 1) / (extent · scale − 1)"),
              Attribute.choice(
                  "rounding",
                  "round-prefer-floor",
                  Choices.names(Rounding.class),
                  "rounding of positions to the nearest element, the nearest_mode of ONNX"),
              Attribute.number("cubicCoefficient", -0.75, "the parameter a of cubic weights"),
              Attribute.flag(
                  "antialias",
                  "whether the distances |i − p| of linear and cubic weights are multiplied by scales"
                      + " below 1"),
              Attribute.flag(
                  "excludeOutside",
                  "whether elements outside of x have no weight; else they equal those at its edge"),
              Images.CHANNELS_LAST),
          List.of(
              Output.of("y", "[N, C, …]", "same as x", "the result; [N, …, C] with channelsLast")),
          "y[n, c, o] = Σ w · x[n, c, i] / Σ w over the elements i around the position p of o; w = the"
              + " product of the weights h(|i − p|) along each dimension; linear: h(d) = max(0, 1 −"
              + " d); cubic: h(d) = (a + 2)·d³ − (a + 3)·d² + 1 if d ≤ 1, a·(d³ − 5·d² + 8·d − 4) if 1 <"
              + " d < 2; added in f32 (f64 for f64). Positions are exact",
          "2·elements per element of y");

  @Override
  public OpDescription description() {
    return description;
  }

  /** A checked call. */
  private record Call(Images x, Resampling function, List<SamplePositions> positions) {

    List<Window> windows() {
      return positions.stream().map(each -> each.window(function.taps(each))).toList();
    }

    double taps() {
      return positions.stream().mapToDouble(function::taps).reduce(1, (a, b) -> a * b);
    }
  }

  private static Call call(Map<String, TensorType> inputs, Attributes attributes) {
    var x =
        Images.of("x", Objects.requireNonNull(inputs.get("x")), attributes.flag("channelsLast"));
    Images.requireIndexable("x", x.type().shape(), 1);
    var filter = Choices.of(Filter.class, attributes, "mode");
    var coordinates = Choices.of(Coordinates.class, attributes, "coordinates");
    boolean antialias = attributes.flag("antialias") && filter != Filter.NEAREST;
    // linear weights without antialiasing are zero outside of x, or belong to the edge
    boolean exclude = attributes.flag("excludeOutside") && (antialias || filter == Filter.CUBIC);
    var positions = new ArrayList<SamplePositions>();
    for (int i = 0; i < x.rank(); i++) {
      long in = x.extent(i);
      if (in == 0) {
        throw new OpException.ShapeMismatch(
            "x",
            "input \"x\" has shape %s; spatial dimension %d has no element to interpolate"
                .formatted(x.type().shape(), i));
      }
      var scale = scale(x, attributes, i);
      long out =
          attributes.has("sizes")
              ? Window.values(attributes, "sizes", x.rank(), 1).get(i)
              : extent(in, scale, i);
      positions.add(SamplePositions.of(coordinates, i, in, out, scale));
    }
    var function = new Resampling(filter, Epilogue.type(x.dtype()), antialias, exclude, false);
    if (positions.stream().anyMatch(each -> function.taps(each) > MOST_TAPS)) {
      throw new OpException.TooLarge(
          "x", "antialiasing would weigh more than 2^31 - 1025 elements along a dimension of x");
    }
    return new Call(x, function, positions);
  }

  private static Fraction scale(Images x, Attributes attributes, int dimension) {
    if (attributes.has("sizes") == attributes.has("scales")) {
      throw new OpException.InvalidAttribute(
          "sizes", "give either attribute \"sizes\" or attribute \"scales\"");
    }
    if (attributes.has("sizes")) {
      long out = Window.values(attributes, "sizes", x.rank(), 1).get(dimension);
      return Fraction.of(out, x.extent(dimension));
    }
    var scales = attributes.numbers("scales");
    if (scales.size() != x.rank()) {
      throw new OpException.InvalidAttribute(
          "scales",
          "attribute \"scales\" must have %d values, one for each spatial dimension of x, got %s"
              .formatted(x.rank(), scales));
    }
    double value = scales.get(dimension);
    if (value < LEAST_SCALE || value > GREATEST_SCALE) {
      throw new OpException.InvalidAttribute(
          "scales",
          "attribute \"scales\" is %s; each value must be from 2^-31 to 2^31".formatted(scales));
    }
    return Fraction.near(value);
  }

  private static long extent(long in, Fraction scale, int dimension) {
    double extent = Math.floor(in * (double) scale.numerator() / scale.denominator());
    if (extent < 1 || extent > Integer.MAX_VALUE) {
      throw new OpException.ShapeMismatch(
          "x",
          "spatial dimension %d of y would have %.0f elements; choose another scale"
              .formatted(dimension, extent));
    }
    return (long) extent;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var call = call(inputs, attributes);
    var x = call.x;
    var spatial = call.positions.stream().map(SamplePositions::out).toList();
    var shape = Images.shape(x.count(), x.channels(), spatial, x.channelsLast());
    return Map.of("y", Checks.output("y", x.dtype(), shape));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var call = call(inputs, attributes);
    var x = call.x;
    var outputs = outputs(inputs, attributes);
    var output = Objects.requireNonNull(outputs.get("y"));
    Checks.requireThreads("x", x.type(), output.shape().elements());
    var rounding = Choices.of(Rounding.class, attributes, "rounding");
    var positions =
        call.function.filter() == Filter.NEAREST
            ? call.positions.stream().map(each -> each.rounded(rounding)).toList()
            : call.positions;
    var function = call.function.withWide(positions.stream().anyMatch(SamplePositions::isWide));
    double coefficient =
        x.dtype() == DType.F64
            ? attributes.number("cubicCoefficient")
            : Checks.single(attributes, "cubicCoefficient");
    var layout =
        new WindowVariant.Layout(
            (int) x.count(), (int) x.channels(), 1, 1, call.windows(), x.channelsLast());
    var step =
        new WindowVariant(function, x.rank())
            .step(layout, function.arguments(positions, coefficient));
    double taps = call.taps();
    var cost = Plan.Cost.of(2 * taps * output.shape().elements(), inputs, outputs);
    var candidates =
        new Candidates("%s of %s".formatted(description.name(), x.dtype().text()), capability);
    var machine = Machine.of(capability);
    double warps = WindowVariant.THREADS / (double) KernelBuilder.WARP;
    double bytes = (double) WindowVariant.THREADS * x.dtype().bytes();
    double instructions = x.rank() * POSITION_INSTRUCTIONS + taps * TAP_INSTRUCTIONS;
    var work =
        new BlockWork(
            WindowVariant.THREADS,
            REGISTERS,
            0,
            machine.issueCycles(warps * instructions),
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
    var call = call(types, attributes);
    var x = call.x;
    var windows = call.windows();
    var reference =
        new ResizeReference(
            call.function,
            call.positions,
            Choices.of(Rounding.class, attributes, "rounding"),
            attributes.number("cubicCoefficient"),
            TensorReader.of(inputs, "x"),
            Pixels.of(windows, Window::in, x.channels(), x.channelsLast()),
            Pixels.of(windows, Window::out, x.channels(), x.channelsLast()));
    long elements = Objects.requireNonNull(outputs(types, attributes).get("y")).shape().elements();
    return Map.of("y", ReferenceOutput.ofElements(elements, reference::value));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Choices.of(Filter.class, attributes, "mode") == Filter.NEAREST
        ? Tolerance.exact()
        : dtype.bytes() < 4 ? Tolerance.usual(dtype) : ProductDescription.tolerance(dtype, 64);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    var dtypes = List.of(DType.F32, DType.F16, DType.BF16, DType.F64);
    for (var text : quick ? CASES.subList(1, 6) : CASES) {
      for (int i = 0; i < (quick ? 1 : 4); i++) {
        var dtype = dtypes.get(cases.size() % dtypes.size());
        var problem = Problem.parse(this, text.replace("=[", "=%s[".formatted(dtype.text())));
        var type = Objects.requireNonNull(problem.inputs().get("x"));
        cases.add(
            new Case(
                Map.of("x", new Draw(random).normal(0, 1, type)),
                problem.attributes(),
                Map.of("y", tolerance("y", dtype, problem.inputs(), problem.attributes()))));
      }
    }
    return cases;
  }
}
