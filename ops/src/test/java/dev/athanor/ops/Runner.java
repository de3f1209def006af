package dev.athanor.ops;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.emulator.EmulatedDevice;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Runs plans on the emulator. */
public final class Runner {

  private Runner() {}

  /** One of the outputs of a plan. */
  public static HostTensor run(Plan plan, Map<String, HostTensor> inputs, String output) {
    return Objects.requireNonNull(run(plan, inputs).get(output), output);
  }

  /** The outputs of a plan. */
  public static Map<String, HostTensor> run(Plan plan, Map<String, HostTensor> inputs) {
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
      var made = new HashMap<String, DeviceTensor>();
      plan.outputs()
          .forEach((name, type) -> {
            var buffer = device.allocate(type.bytes());
            buffers.add(buffer);
            made.put(name, new DeviceTensor(type, buffer));
          });
      Optional<Buffer> workspace = Optional.empty();
      if (plan.workspaceBytes() > 0) {
        var buffer = device.allocate(plan.workspaceBytes());
        buffers.add(buffer);
        workspace = Optional.of(buffer);
      }
      plan.enqueue(new KernelCache(device), stream, new Bindings(given, made, workspace));
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

  /** The bits of an output. */
  public static byte[] bytes(HostTensor tensor) {
    return tensor.data().toArray(ValueLayout.JAVA_BYTE);
  }
}
