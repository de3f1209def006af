package dev.athanor.ops.check;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;

/** The op {@code y = 2 x}, with kernels that are correct or have one flaw. */
record Twice(List<Flaw> variants) implements Op {

  /** The number of elements of its cases. */
  static final int N = 50;

  private static final int THREADS = 64;

  enum Flaw {
    NONE,
    /** One element is 3 x. */
    WRONG_ELEMENT,
    /** Every third element, from the second on, is not written. */
    UNWRITTEN,
    /** One element too many is written. */
    OVERRUN,
    /** x is written too. */
    CHANGES_INPUT,
    /** One element is slightly larger if memory held the correct value before. */
    NOT_REPEATED,
    /** An element far out of bounds is written. */
    FAULT,
    /** The block is larger than the kernel allows. */
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
        List.of(OpDescription.Output.of("y", "[N]", "f32", "the doubles")),
        "y = 2 x",
        "N");
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    if (variants.isEmpty()) {
      throw new OpException.UnsupportedOnDevice("x", "no device can double");
    }
    return variants.stream().map(flaw -> new FlawedKernel(flaw).plan(x)).toList();
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
              Map.of("y", Tolerance.maximum(1e-6))));
    }
    return cases;
  }

  /** A kernel with a flaw. */
  private record FlawedKernel(Flaw flaw) implements Variant {

    @Override
    public String name() {
      return "twice_" + flaw.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(name(), THREADS, this::write);
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
        case NOT_REPEATED -> {
          var before = to.loadWhere(i.eq(9), i).widen();
          twice = twice.plus(1e-6).where(before.eq(twice), twice);
        }
        case CHANGES_INPUT -> from.storeWhere(inside, i, twice);
        case FAULT -> at = i.plus(k.integer(1 << 28));
        default -> {}
      }
      to.storeWhere(inside, at, twice);
    }

    Plan plan(TensorType x) {
      int threads = flaw == Flaw.REFUSED_LAUNCH ? 2 * THREADS : THREADS;
      var step =
          new Step(
              this,
              Dim3.of(1),
              threads,
              0,
              Arguments.ofInputs("x").outputs("y").with("n", (int) x.shape().elements()));
      var cost = new Plan.Cost(x.shape().elements(), 2.0 * x.bytes());
      return new LaunchPlan(name(), Map.of("y", x), List.of(step), 0, cost, name());
    }
  }
}
