package dev.athanor.ops.attention;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DType;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;

/** Runs plans on the emulator. */
final class Bench implements AutoCloseable {

  private final Device device = new EmulatedDevice();
  private final KernelCache kernels = new KernelCache(device);
  private final Stream stream = device.openStream();

  static Map<String, TensorType> types(Map<String, HostTensor> inputs) {
    var types = new HashMap<String, TensorType>();
    inputs.forEach((name, tensor) -> types.put(name, tensor.type()));
    return types;
  }

  static Draw draw() {
    return new Draw(new Random(7));
  }

  List<? extends Plan> plans(Op op, Map<String, HostTensor> inputs, Attributes attributes) {
    return op.plans(types(inputs), attributes, device.capability());
  }

  Map<String, HostTensor> run(Plan plan, Map<String, HostTensor> inputs) {
    var buffers = new ArrayList<Buffer>();
    try {
      var given = new HashMap<String, DeviceTensor>();
      inputs.forEach((name, tensor) -> {
        var buffer = allocate(buffers, tensor.type().bytes());
        stream.upload(tensor.data(), buffer, 0);
        given.put(name, new DeviceTensor(tensor.type(), buffer));
      });
      var made = new HashMap<String, DeviceTensor>();
      plan.outputs()
          .forEach((name, type) ->
              made.put(name, new DeviceTensor(type, allocate(buffers, type.bytes()))));
      Optional<Buffer> workspace =
          plan.workspaceBytes() == 0
              ? Optional.empty()
              : Optional.of(allocate(buffers, plan.workspaceBytes()));
      plan.enqueue(kernels, stream, new Bindings(given, made, workspace));
      var results = new HashMap<String, HostTensor>();
      made.forEach((name, tensor) -> {
        var result = HostTensor.zeros(tensor.type());
        stream.download(tensor.buffer(), 0, result.data());
        results.put(name, result);
      });
      stream.synchronize();
      return results;
    } finally {
      buffers.forEach(Buffer::close);
    }
  }

  /** Runs the fastest plan. */
  Map<String, HostTensor> run(Op op, Map<String, HostTensor> inputs, Map<String, ?> given) {
    var attributes = Attributes.of(op.description(), given);
    return run(plans(op, inputs, attributes).getFirst(), inputs);
  }

  private Buffer allocate(List<Buffer> buffers, long bytes) {
    var buffer = device.allocate(bytes);
    buffers.add(buffer);
    return buffer;
  }

  static HostTensor get(Map<String, HostTensor> tensors, String name) {
    return Objects.requireNonNull(tensors.get(name), name);
  }

  static void equalBits(HostTensor a, HostTensor b) {
    assertThat(a.type()).isEqualTo(b.type());
    assertThat(a.data().toArray(ValueLayout.JAVA_BYTE))
        .isEqualTo(b.data().toArray(ValueLayout.JAVA_BYTE));
  }

  /** Some elements of a tensor as a tensor. */
  static HostTensor slice(HostTensor tensor, long first, TensorType type) {
    var bytes =
        tensor
            .data()
            .asSlice(first * type.dtype().bytes(), type.bytes())
            .toArray(ValueLayout.JAVA_BYTE);
    return new HostTensor(type, MemorySegment.ofArray(bytes));
  }

  static HostTensor identity(DType dtype, int n) {
    var values = new double[n * n];
    for (int i = 0; i < n; i++) {
      values[i * n + i] = 1;
    }
    return HostTensor.of(TensorType.of(dtype, n, n), values);
  }

  @Override
  public void close() {
    stream.close();
    device.close();
  }
}
