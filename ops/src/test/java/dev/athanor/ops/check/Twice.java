package dev.athanor.ops.check;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;

/** The op {@code y = 2 x}, in kernels that are right or have one flaw. */
record Twice(List<Flaw> variants) implements Op {

  /** The elements of its cases. */
  static final int N = 50;

  private static final int THREADS = 64;

  enum Flaw {
    NONE,
    /** One element is 3 x. */
    WRONG_ELEMENT,
    /** Every third element is missing, from the second on. */
    UNWRITTEN,
    /** One element too many. */
    OVERRUN,
    /** x is written too. */
    CHANGES_INPUT,
    /** An element far away is written. */
    FAULT,
    /** A block larger than the kernel takes. */
    REFUSED_LAUNCH
  }

  static Twice with(Flaw... variants) {
    return new Twice(Arrays.asList(variants));
  }

  @Override
  public OpDescription description() {
    return new OpDescription(
        "twice",
        "Doubles.",
        List.of(new OpDescription.Input("x", "[N]", Set.of(DType.F32), false, "numbers")),
        List.of(),
        List.of(new OpDescription.Output("y", "[N]", "the doubles")),
        "y = 2 x");
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    if (variants.isEmpty()) {
      throw new OpException.UnsupportedOnDevice("x", "no device can double");
    }
    return variants.stream().map(flaw -> new Way(flaw, x)).toList();
  }

  @Override
  public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x")).toDoubles();
    return Map.of("y", Arrays.stream(x).map(each -> 2 * each).toArray());
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    for (int i = 0; i < (quick ? 1 : 3); i++) {
      var x = random.doubles(N, 1, 2).toArray();
      cases.add(
          new Case(
              Map.of("x", HostTensor.of(TensorType.of(DType.F32, N), x)),
              Attributes.of(description(), Map.of()),
              new Tolerance(Tolerance.Metric.MAXIMUM, 1e-6)));
    }
    return cases;
  }

  /** One kernel variant. */
  private record Way(Flaw flaw, TensorType x) implements Plan {

    @Override
    public String kernel() {
      return "twice_" + flaw.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public Map<String, TensorType> outputs() {
      return Map.of("y", x);
    }

    @Override
    public List<Kernel> kernels() {
      return List.of(build());
    }

    private Kernel build() {
      return KernelBuilder.build(kernel(), THREADS, this::write);
    }

    private void write(KernelBuilder k) {
      var from = k.pointer("x", Type.F32);
      var to = k.pointer("y", Type.F32);
      var n = k.integer("n");
      var i = k.thread();
      var limit = flaw == Flaw.OVERRUN ? n.plus(1) : n;
      var inside = i.lt(limit);
      var value = from.loadWhere(i.lt(n), i).widen();
      var twice = value.times(2);
      var at = i;
      switch (flaw) {
        case WRONG_ELEMENT -> twice = twice.where(i.eq(k.integer(7)).not(), value.times(3));
        case UNWRITTEN -> inside = inside.and(i.rem(3).eq(k.integer(1)).not());
        case CHANGES_INPUT -> from.storeWhere(inside, i, twice);
        case FAULT -> at = far(k, i);
        default -> {}
      }
      to.storeWhere(inside, at, twice);
    }

    private static Int far(KernelBuilder k, Int i) {
      return i.plus(k.integer(1 << 28));
    }

    @Override
    public Cost cost() {
      return new Cost(x.shape().elements(), 2.0 * x.bytes());
    }

    @Override
    public String explain() {
      return kernel();
    }

    @Override
    public void enqueue(
        KernelCache kernels,
        Stream stream,
        Map<String, DeviceTensor> inputs,
        Map<String, DeviceTensor> outputs) {
      stream.launch(
          new Launch(
              kernels.get(flaw, this::build),
              Dim3.of(1),
              Dim3.of(flaw == Flaw.REFUSED_LAUNCH ? 2 * THREADS : THREADS),
              0,
              List.of(
                  Objects.requireNonNull(inputs.get("x")).pointer(),
                  Objects.requireNonNull(outputs.get("y")).pointer(),
                  Argument.of((int) x.shape().elements()))));
    }
  }
}
