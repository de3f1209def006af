package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.device.Scratch;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.Pin;
import java.lang.foreign.Arena;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

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
      case Call.Input.Resident(var handle, var shape) ->
          resident(handle, shape, field + ".handle", field + ".shape");
    };
  }

  /**
   * Returns the value of a resident tensor; {@code field} is the path of its handle in the request.
   */
  RunValue resident(String handle, String field) {
    return resident(handle, null, field, field);
  }

  private RunValue resident(
      String handle, @Nullable List<Long> shape, String field, String shapeField) {
    var pin = pins.read(handle, field);
    var type = shape == null ? pin.type() : reshaped(pin.type(), shape, shapeField);
    var value = new RunValue(type, pin.handle()); // a name may refer to another tensor later
    if (pin.storage() == memory) {
      var there = pin.tensor();
      value.setTensor(new DeviceTensor(type, there.buffer(), there.offset()));
    } else {
      foreign.put(value, pin);
    }
    return value;
  }

  /** Returns a type with the same dtype and number of elements in another shape. */
  private static TensorType reshaped(TensorType type, List<Long> shape, String field) {
    var other = Tensors.type(type.dtype(), shape, field);
    if (other.shape().elements() != type.shape().elements()) {
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          field,
          "%s is %s, but the tensor has shape %s; both must have the same number of elements"
              .formatted(field, other.shape(), type.shape()));
    }
    return other;
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

  /** Copies all inputs that are not on this device to scratch memory. */
  void upload(Stream stream) {
    uploadInline(
        stream,
        value -> {
          value.setTensor(scratch.tensor(value.type()));
          return value.tensor();
        });
    foreign.forEach((value, pin) -> fetch(value, pin, stream));
  }

  /** Copies the inline tensors to device memory. */
  void uploadInline(Stream stream, Function<RunValue, DeviceTensor> target) {
    inline.forEach(
        (value, tensor) -> stream.upload(tensor.data(), target.apply(value).buffer(), 0));
  }

  /** Copies a tensor from another device through host memory. */
  private void fetch(RunValue value, Pin pin, Stream stream) {
    try (var arena = Arena.ofConfined()) {
      var host = arena.allocate(value.type().bytes(), Long.BYTES);
      pin.storage().read(pin.tensor().buffer(), host);
      value.setTensor(scratch.tensor(value.type()));
      stream.upload(host, value.tensor().buffer(), 0);
      stream.synchronize(); // the copy reads host memory that is freed here
    }
  }

  /** Copies the elements of an input of this device to an offset in device memory. */
  void copy(RunValue value, Stream stream, Buffer target, long offset) {
    var upload = inline.get(value);
    if (upload != null) {
      stream.upload(upload.data(), target, offset);
    } else {
      stream.copy(value.tensor().buffer(), 0, target, offset, value.type().bytes());
    }
  }
}
