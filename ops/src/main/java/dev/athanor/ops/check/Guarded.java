package dev.athanor.ops.check;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The tensors of one run on a device. Outputs and the guard zone behind each are initialized with
 * 0xFF bytes, which are NaN in every floating-point type.
 */
final class Guarded implements AutoCloseable {

  static final byte POISON = (byte) 0xFF;

  /** The size of the guard zone behind each output. Smaller overruns are detected on any device. */
  private static final int GUARD_BYTES = 4096;

  private static final MemorySegment UNTOUCHED = MemorySegment.ofArray(untouched());

  private final Device device;
  private final Stream stream;
  private final List<Buffer> buffers = new ArrayList<>();
  private final Map<String, DeviceTensor> inputs = new LinkedHashMap<>();
  private final Map<String, HostTensor> given = new LinkedHashMap<>();
  private final Map<String, DeviceTensor> outputs = new LinkedHashMap<>();

  Guarded(Device device) {
    this.device = device;
    stream = device.openStream();
  }

  /**
   * An output after a run.
   *
   * @param overrun the first byte written beyond the end, counted from the end
   */
  record Written(HostTensor tensor, OptionalLong overrun) {}

  private static byte[] untouched() {
    var bytes = new byte[GUARD_BYTES];
    Arrays.fill(bytes, POISON);
    return bytes;
  }

  Stream stream() {
    return stream;
  }

  /** Returns the bindings of a plan, with a workspace initialized with 0xFF bytes. */
  Bindings bindings(long workspaceBytes) {
    Optional<Buffer> workspace = Optional.empty();
    if (workspaceBytes > 0) {
      var buffer = allocate(workspaceBytes);
      stream.fill(buffer, 0, workspaceBytes, POISON);
      workspace = Optional.of(buffer);
    }
    return new Bindings(inputs, outputs, workspace);
  }

  void input(String name, HostTensor tensor) {
    var buffer = allocate(tensor.type().bytes());
    stream.upload(tensor.data(), buffer, 0);
    inputs.put(name, new DeviceTensor(tensor.type(), buffer));
    given.put(name, tensor);
  }

  void output(String name, TensorType type) {
    long bytes = type.bytes() + GUARD_BYTES;
    var buffer = allocate(bytes);
    stream.fill(buffer, 0, bytes, POISON);
    outputs.put(name, new DeviceTensor(type, buffer));
  }

  /** Reads an output and its guard zone. */
  Written read(String name) {
    var output = Objects.requireNonNull(outputs.get(name), name);
    var tensor = HostTensor.zeros(output.type());
    var guard = MemorySegment.ofArray(new byte[GUARD_BYTES]);
    stream.download(output.buffer(), 0, tensor.data());
    stream.download(output.buffer(), output.type().bytes(), guard);
    stream.synchronize();
    return new Written(tensor, difference(guard, UNTOUCHED));
  }

  /** Returns the index of the first changed byte of an input. */
  OptionalLong changed(String name) {
    var input = Objects.requireNonNull(inputs.get(name), name);
    var now = HostTensor.zeros(input.type()).data();
    stream.download(input.buffer(), 0, now);
    stream.synchronize();
    return difference(now, Objects.requireNonNull(given.get(name), name).data());
  }

  private static OptionalLong difference(MemorySegment a, MemorySegment b) {
    long at = a.mismatch(b);
    return at < 0 ? OptionalLong.empty() : OptionalLong.of(at);
  }

  private Buffer allocate(long bytes) {
    var buffer = device.allocate(Math.max(1, bytes));
    buffers.add(buffer);
    return buffer;
  }

  @Override
  public void close() {
    buffers.forEach(Buffer::close);
    stream.close();
  }
}
