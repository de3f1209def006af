package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.device.Scratch;
import dev.athanor.service.tensor.Pin;
import java.lang.foreign.Arena;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** The inputs of a run: inline tensors, and resident tensors of this and of other devices. */
final class RunInputs {

  private final DeviceMemory memory;
  private final Pins pins;
  private final Scratch scratch;
  private final Map<RunValue, HostTensor> inline = new LinkedHashMap<>();

  /** Tensors that reside on other devices. */
  private final Map<RunValue, Pin> foreign = new LinkedHashMap<>();

  /**
   * @param memory the memory of the device that runs
   * @param scratch provides device memory for inline and foreign tensors
   */
  RunInputs(DeviceMemory memory, Pins pins, Scratch scratch) {
    this.memory = memory;
    this.pins = pins;
    this.scratch = scratch;
  }

  /**
   * Returns the value of an input of the request.
   *
   * @param field the path of the input in the request
   */
  RunValue add(Call.Input input, String field) {
    return switch (input) {
      case Call.Input.Inline(var tensor) -> {
        var value = new RunValue(tensor.type());
        inline.put(value, tensor);
        yield value;
      }
      case Call.Input.Resident(var handle, var view) ->
          Views.of(resident(handle, field + ".handle"), view, field);
    };
  }

  /**
   * Returns the value of a resident tensor; {@code field} is the path of its handle in the request.
   */
  RunValue resident(String handle, String field) {
    var pin = pins.read(handle, field);
    var value = new RunValue(pin.type(), pin.handle()); // a name may refer to another tensor later
    if (pin.storage() == memory) {
      value.setTensor(pin.tensor());
    } else {
      foreign.put(value, pin);
    }
    return value;
  }

  /** Whether some tensors reside on other devices. */
  boolean areForeign() {
    return !foreign.isEmpty();
  }

  /** Returns the bytes that go through host memory. */
  long hostBytes() {
    return bytes(inline.keySet()) + bytes(foreign.keySet());
  }

  private static long bytes(Collection<RunValue> values) {
    long sum = 0;
    for (var value : values) {
      sum += value.type().bytes();
    }
    return sum;
  }

  /** Allocates memory for all inputs that are not on this device. */
  void allocate() {
    inline.keySet().forEach(value -> value.setTensor(scratch.tensor(value.type())));
    foreign.keySet().forEach(value -> value.setTensor(scratch.tensor(value.type())));
  }

  /** Copies all inputs that are not on this device to their memory. */
  void upload(Stream stream) {
    uploadInline(stream, RunValue::tensor);
    foreign.forEach((value, pin) -> fetch(value, pin, stream));
  }

  /** Copies the inline tensors to device memory. */
  void uploadInline(Stream stream, Function<RunValue, DeviceTensor> target) {
    inline.forEach((value, tensor) -> {
      var to = target.apply(value);
      stream.upload(tensor.data(), to.buffer(), to.offset());
    });
  }

  /** Copies a tensor from another device through host memory. */
  private void fetch(RunValue value, Pin pin, Stream stream) {
    try (var arena = Arena.ofConfined()) {
      var host = arena.allocate(value.type().bytes(), Long.BYTES);
      pin.storage().read(pin.tensor().buffer(), host);
      stream.upload(host, value.tensor().buffer(), value.tensor().offset());
      stream.synchronize(); // the copy reads host memory that is freed here
    }
  }

  /** Copies the elements of an input of this device to an offset in device memory. */
  void copy(RunValue value, Stream stream, Buffer target, long offset) {
    var upload = inline.get(value);
    if (upload != null) {
      stream.upload(upload.data(), target, offset);
    } else {
      var from = value.tensor();
      stream.copy(from.buffer(), from.offset(), target, offset, value.type().bytes());
    }
  }
}
