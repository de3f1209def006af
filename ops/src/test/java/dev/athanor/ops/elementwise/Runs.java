package dev.athanor.ops.elementwise;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Runs ops of this package on the emulator. */
final class Runs {

  private Runs() {}

  static Op op(String name) {
    return new ElementwiseOps()
        .ops().stream()
            .filter(op -> op.description().name().equals(name))
            .findFirst()
            .orElseThrow();
  }

  static List<? extends Plan> plans(
      String name, Map<String, TensorType> inputs, Map<String, ?> attributes) {
    var op = op(name);
    return op.plans(inputs, Attributes.of(op.description(), attributes), TestDevices.H200);
  }

  /** The output {@code y} of the plan that comes first. */
  static HostTensor run(String name, Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var types = new HashMap<String, TensorType>();
    inputs.forEach((input, tensor) -> types.put(input, tensor.type()));
    return run(plans(name, types, attributes).getFirst(), inputs);
  }

  /** The output {@code y} of a plan. */
  static HostTensor run(Plan plan, Map<String, HostTensor> inputs) {
    var result = HostTensor.zeros(Objects.requireNonNull(plan.outputs().get("y")));
    var buffers = new ArrayList<Buffer>();
    try (var device = new EmulatedDevice();
        var stream = device.openStream()) {
      var given = new HashMap<String, DeviceTensor>();
      inputs.forEach((name, tensor) -> {
        var buffer = device.allocate(tensor.type().bytes());
        buffers.add(buffer);
        stream.upload(tensor.data(), buffer, 0);
        given.put(name, new DeviceTensor(tensor.type(), buffer));
      });
      var y = device.allocate(result.type().bytes());
      buffers.add(y);
      Optional<Buffer> workspace = Optional.empty();
      if (plan.workspaceBytes() > 0) {
        var buffer = device.allocate(plan.workspaceBytes());
        buffers.add(buffer);
        workspace = Optional.of(buffer);
      }
      var outputs = Map.of("y", new DeviceTensor(result.type(), y));
      plan.enqueue(new KernelCache(device), stream, new Bindings(given, outputs, workspace));
      stream.download(y, 0, result.data());
      stream.synchronize();
    } finally {
      buffers.forEach(Buffer::close);
    }
    return result;
  }
}
