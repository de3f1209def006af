package dev.athanor.ops.row;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** An emulator that runs plans and gives back what they wrote. */
final class RowRig implements AutoCloseable {

  private final EmulatedDevice device = new EmulatedDevice();
  private final Stream stream = device.openStream();
  private final KernelCache kernels = new KernelCache(device);

  static Op op(String name) {
    return Catalogue.load().find(name).orElseThrow();
  }

  Capability capability() {
    return device.capability();
  }

  /** The plans of a problem, the best first. */
  List<LaunchPlan> plans(Op op, Map<String, HostTensor> inputs, Attributes attributes) {
    return op.plans(RopeProblem.types(inputs), attributes, capability()).stream()
        .map(LaunchPlan.class::cast)
        .toList();
  }

  /** The outputs of a plan. */
  Map<String, HostTensor> run(LaunchPlan plan, Map<String, HostTensor> inputs) {
    var buffers = new ArrayList<Buffer>();
    try {
      var given = new HashMap<String, DeviceTensor>();
      inputs.forEach((name, tensor) -> {
        var buffer = allocate(tensor.type().bytes(), buffers);
        stream.upload(tensor.data(), buffer, 0);
        given.put(name, new DeviceTensor(tensor.type(), buffer));
      });
      var made = new HashMap<String, DeviceTensor>();
      plan.outputs()
          .forEach((name, type) ->
              made.put(name, new DeviceTensor(type, allocate(type.bytes(), buffers))));
      var workspace =
          plan.workspaceBytes() == 0
              ? Optional.<Buffer>empty()
              : Optional.of(allocate(plan.workspaceBytes(), buffers));
      plan.enqueue(kernels, stream, new Bindings(given, made, workspace));
      var results = new HashMap<String, HostTensor>();
      made.forEach((name, tensor) -> {
        var host = HostTensor.zeros(tensor.type());
        stream.download(tensor.buffer(), 0, host.data());
        results.put(name, host);
      });
      stream.synchronize();
      return results;
    } finally {
      buffers.forEach(Buffer::close);
    }
  }

  private Buffer allocate(long bytes, List<Buffer> buffers) {
    var buffer = device.allocate(bytes);
    buffers.add(buffer);
    return buffer;
  }

  /** The outputs of every plan, each checked against the reference. */
  List<Map<String, HostTensor>> check(
      Op op, Map<String, HostTensor> inputs, Attributes attributes, Tolerance tolerance) {
    var reference = op.reference(inputs, attributes);
    var all = new ArrayList<Map<String, HostTensor>>();
    for (var plan : plans(op, inputs, attributes)) {
      var outputs = run(plan, inputs);
      outputs.forEach((name, tensor) -> {
        var expected = Objects.requireNonNull(reference.get(name));
        assertThat(tolerance.error(tensor.toDoubles(), expected))
            .as("error of %s by %s of %s", name, plan.kernel(), RopeProblem.types(inputs))
            .isLessThanOrEqualTo(tolerance.limit());
      });
      all.add(outputs);
    }
    return all;
  }

  static byte[] bytes(HostTensor tensor) {
    return tensor.data().toArray(ValueLayout.JAVA_BYTE);
  }

  /** A tensor with the same elements in another shape, or some of them. */
  static HostTensor slice(HostTensor tensor, TensorType type, long first) {
    return new HostTensor(type, tensor.data().asSlice(first * type.dtype().bytes(), type.bytes()));
  }

  @Override
  public void close() {
    stream.close();
    device.close();
  }
}
