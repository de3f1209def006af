package dev.athanor.ops.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The result of running a plan once on uploaded host tensors.
 *
 * @param outputs outputs in host memory
 * @param micros time of the kernels in microseconds, by device events
 */
public record HostRun(Map<String, HostTensor> outputs, double micros) {

  public HostRun {
    outputs = Map.copyOf(outputs);
  }

  /**
   * Uploads the inputs, runs a plan, and downloads the outputs.
   *
   * @param inputs inputs of the types that the plan was made for
   */
  public static HostRun of(
      Device device, KernelCache kernels, Plan plan, Map<String, HostTensor> inputs) {
    var buffers = new ArrayList<Buffer>();
    try (var stream = device.openStream()) {
      var given = new LinkedHashMap<String, DeviceTensor>();
      inputs.forEach((name, tensor) -> {
        var at = tensor(device, tensor.type(), buffers);
        stream.upload(tensor.data(), at.buffer(), 0);
        given.put(name, at);
      });
      var made = new LinkedHashMap<String, DeviceTensor>();
      plan.outputs().forEach((name, type) -> made.put(name, tensor(device, type, buffers)));
      var workspace =
          plan.workspaceBytes() == 0
              ? Optional.<Buffer>empty()
              : Optional.of(allocate(device, plan.workspaceBytes(), buffers));
      // load the kernels now, so that the time does not include it
      plan.load(kernels);
      stream.synchronize();
      double micros;
      try (var start = stream.record()) {
        plan.enqueue(kernels, stream, new Bindings(given, made, workspace));
        try (var end = stream.record()) {
          end.synchronize();
          micros = end.microsSince(start);
        }
      }
      var results = new LinkedHashMap<String, HostTensor>();
      made.forEach((name, tensor) -> {
        var host = HostTensor.zeros(tensor.type());
        stream.download(tensor.buffer(), 0, host.data());
        results.put(name, host);
      });
      stream.synchronize();
      return new HostRun(results, micros);
    } finally {
      buffers.forEach(Buffer::close);
    }
  }

  private static DeviceTensor tensor(Device device, TensorType type, List<Buffer> buffers) {
    return new DeviceTensor(type, allocate(device, type.bytes(), buffers));
  }

  private static Buffer allocate(Device device, long bytes, List<Buffer> buffers) {
    var buffer = device.allocate(Math.max(1, bytes));
    buffers.add(buffer);
    return buffer;
  }
}
