package dev.athanor.service.run;

import static org.awaitility.Awaitility.await;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DType;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.service.stream.StreamPool;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;

/** Ops without kernels, which only copy and fill. */
public final class TestOps {

  private TestOps() {}

  /** A plan without kernels. */
  private record TestPlan(String kernel, Map<String, TensorType> outputs, Enqueue work)
      implements Plan {

    interface Enqueue {
      void run(Stream stream, Map<String, DeviceTensor> inputs, Map<String, DeviceTensor> outputs);
    }

    @Override
    public List<Kernel> kernels() {
      return List.of();
    }

    @Override
    public Cost cost() {
      return new Cost(10, 20);
    }

    @Override
    public String explain() {
      return "the only one";
    }

    @Override
    public int requiredSharedMemory() {
      return 0;
    }

    @Override
    public void enqueue(KernelCache kernels, Stream stream, Bindings bindings) {
      work.run(stream, bindings.inputs(), bindings.outputs());
    }
  }

  /** Copies bytes from an offset in a tensor to an offset in another. */
  private static void copy(
      Stream stream, DeviceTensor from, long start, DeviceTensor to, long at, long bytes) {
    stream.copy(from.buffer(), from.offset() + start, to.buffer(), to.offset() + at, bytes);
  }

  private static DeviceTensor at(Map<String, DeviceTensor> tensors, String name) {
    var tensor = tensors.get(name);
    if (tensor == null) {
      throw new IllegalArgumentException("no " + name);
    }
    return tensor;
  }

  private static TensorType type(Map<String, TensorType> types, String name) {
    var type = types.get(name);
    if (type == null) {
      throw new IllegalArgumentException("no " + name);
    }
    return type;
  }

  private static OpDescription.Input input(String name, String shape, boolean optional) {
    return new OpDescription.Input(name, shape, EnumSet.allOf(DType.class), optional, "any");
  }

  /** Copies its input, optionally after waiting at a gate. */
  public static final class Identity implements Op {

    /** With the attribute {@code gate}, each run acquires a permit. */
    public static final Semaphore GATE = new Semaphore(0);

    /** The number of runs that have reached the gate. */
    public static final AtomicInteger AT_GATE = new AtomicInteger();

    /** Releases all jobs, also those that reach the gate later, and waits until they end. */
    public static void openGate(StreamPool streams) {
      await()
          .until(() -> {
            GATE.release(AT_GATE.getAndSet(0));
            return streams.busy() + streams.waiting() == 0;
          });
      GATE.drainPermits();
    }

    @Override
    public OpDescription description() {
      return new OpDescription(
          "identity",
          "Returns its input.",
          List.of(input("x", "[…]", false)),
          List.of(
              Attribute.flag("gate", "whether to wait at the gate"),
              Attribute.number("factor", 1.0, "unused"),
              Attribute.choice("mode", "", List.of("a", "b"), "unused")),
          List.of(OpDescription.Output.of("y", "[…]", "same as x", "x")),
          "y = x",
          "0");
    }

    @Override
    public java.util.List<Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      boolean gate = attributes.flag("gate");
      var type = type(inputs, "x");
      return java.util.List.of(
          new TestPlan(
              "identity_" + type.dtype().text(),
              Map.of("y", type),
              (stream, in, out) -> {
                if (gate) {
                  AT_GATE.incrementAndGet();
                  GATE.acquireUninterruptibly();
                }
                copy(stream, at(in, "x"), 0, at(out, "y"), 0, type.bytes());
              }));
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      var x = inputs.get("x");
      return x == null ? Map.of() : Map.of("y", x.toDoubles());
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      var x = HostTensor.of(TensorType.of(DType.F32, 2), random.nextDouble(), 1);
      return List.of(
          new Case(
              Map.of("x", x),
              Attributes.of(description(), Map.of()),
              Map.of("y", Tolerance.exact())));
    }
  }

  /** Concatenates two tensors. */
  public static final class Concat implements Op {
    @Override
    public OpDescription description() {
      return new OpDescription(
          "concat",
          "Concatenates two tensors.",
          List.of(input("a", "[N]", false), input("b", "[M]", true)),
          List.of(),
          List.of(
              OpDescription.Output.of("c", "[N+M]", "same as a", "a, then b"),
              OpDescription.Output.of("zeros", "[N]", "same as a", "zeros in the shape of a")),
          "c = a ++ b",
          "0");
    }

    @Override
    public java.util.List<Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      var a = type(inputs, "a");
      var b = inputs.get("b");
      if (a.shape().rank() != 1) {
        throw new OpException.ShapeMismatch("a", "a must have rank 1, got " + a.shape());
      }
      if (b != null && b.dtype() != a.dtype()) {
        throw new OpException.UnsupportedDType("b", "b must be like a, got " + b);
      }
      if (a.dtype() == DType.F64) {
        throw new OpException.UnsupportedOnDevice("a", "f64 needs sm_100, this is sm_80");
      }
      var outputs = new HashMap<String, TensorType>();
      outputs.put(
          "c",
          TensorType.of(a.dtype(), a.shape().extent(0) + (b == null ? 0 : b.shape().extent(0))));
      outputs.put("zeros", a);
      return java.util.List.of(
          new TestPlan(
              "concat",
              outputs,
              (stream, in, out) -> {
                var c = at(out, "c");
                copy(stream, at(in, "a"), 0, c, 0, a.bytes());
                if (b != null) {
                  copy(stream, at(in, "b"), 0, c, a.bytes(), b.bytes());
                }
                var zeros = at(out, "zeros");
                stream.fill(zeros.buffer(), zeros.offset(), a.bytes(), (byte) 0);
              }));
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      var a = Objects.requireNonNull(inputs.get("a")).toDoubles();
      return Map.of("c", a, "zeros", new double[a.length]);
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      var a = HostTensor.of(TensorType.of(DType.F32, 2), random.nextDouble(), 1);
      return List.of(
          new Case(
              Map.of("a", a),
              Attributes.of(description(), Map.of()),
              Map.of("c", Tolerance.exact(), "zeros", Tolerance.exact())));
    }
  }

  /** Joins the inputs of a list in the order that a text names. */
  public static final class Join implements Op {
    @Override
    public OpDescription description() {
      return new OpDescription(
          "join",
          "Joins tensors.",
          OpDescription.Input.list("x", 1, 4, "[…]", EnumSet.allOf(DType.class), "a part"),
          List.of(Attribute.text("order", "the names of the parts in order").asRequired()),
          List.of(OpDescription.Output.of("y", "[N]", "same as x0", "the parts in order")),
          "y = parts named by order",
          "0");
    }

    @Override
    public List<Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      var order = List.of(attributes.text("order").split(" "));
      long elements = 0;
      for (var name : order) {
        if (!inputs.containsKey(name)) {
          throw new OpException.InvalidAttribute(
              "order", "order names \"%s\", which is not an input".formatted(name));
        }
        elements += type(inputs, name).shape().elements();
      }
      return List.of(
          new TestPlan(
              "join",
              Map.of("y", TensorType.of(type(inputs, "x0").dtype(), elements)),
              (stream, in, out) -> {
                long at = 0;
                for (var name : order) {
                  long bytes = type(inputs, name).bytes();
                  copy(stream, at(in, name), 0, at(out, "y"), at, bytes);
                  at += bytes;
                }
              }));
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      throw new UnsupportedOperationException("not in the self-test");
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      return List.of();
    }
  }

  /** Splits its input into a list of outputs; the name of its kernel contains its numbers. */
  public static final class Split implements Op {
    @Override
    public OpDescription description() {
      return new OpDescription(
          "split",
          "Splits a tensor.",
          List.of(input("x", "[N]", false)),
          List.of(
              Attribute.integers("sizes", "the sizes of the parts").asRequired().from(1, 100),
              Attribute.numbers("factors", "unused")),
          OpDescription.Output.list("y", 4, "[…]", "same as x", "a part"),
          "y0, y1, … = parts of x",
          "0");
    }

    @Override
    public List<Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      var x = type(inputs, "x");
      var sizes = attributes.integers("sizes");
      if (sizes.stream().mapToLong(size -> size).sum() != x.shape().elements()) {
        throw new OpException.ShapeMismatch("x", "x has shape " + x.shape() + ", sizes " + sizes);
      }
      var outputs = new HashMap<String, TensorType>();
      for (int i = 0; i < sizes.size(); i++) {
        outputs.put("y" + i, TensorType.of(x.dtype(), sizes.get(i)));
      }
      return List.of(
          new TestPlan(
              "split" + attributes.numbers("factors"),
              outputs,
              (stream, in, out) -> {
                long at = 0;
                for (int i = 0; i < sizes.size(); i++) {
                  long bytes = type(outputs, "y" + i).bytes();
                  copy(stream, at(in, "x"), at, at(out, "y" + i), 0, bytes);
                  at += bytes;
                }
              }));
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      throw new UnsupportedOperationException("not in the self-test");
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      return List.of();
    }
  }
}
