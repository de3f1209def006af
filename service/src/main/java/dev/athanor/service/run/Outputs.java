package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.service.codec.HostAllocator;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.device.Scratch;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.StepsJob.Value;
import dev.athanor.service.tensor.DeviceStorage;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TenantTensors.Charge;
import dev.athanor.service.tensor.TensorOptions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What a run gives, on its way to where the client wants it. */
final class Outputs {

  /**
   * Where a value goes.
   *
   * @param into a tensor that is there
   * @param charge of a new one
   * @param host where it waits for the answer that it goes with
   */
  private record Out(
      String name,
      Value value,
      @Nullable Pin into,
      @Nullable Charge charge,
      @Nullable HostTensor host) {}

  private final TenantTensors tensors;
  private final Pins pins;
  private final Scratch scratch;
  private final HostAllocator memory;
  private final List<Out> outs = new ArrayList<>();
  private long inlineBytes;

  /**
   * None yet.
   *
   * @param memory for what goes back with the answer
   */
  Outputs(TenantTensors tensors, Pins pins, Scratch scratch, HostAllocator memory) {
    this.tensors = tensors;
    this.pins = pins;
    this.scratch = scratch;
    this.memory = memory;
  }

  /** Host memory for what goes back with the answer. */
  long inlineBytes() {
    return inlineBytes;
  }

  /** Says where a value goes. */
  void add(String name, Value value, Destination destination) {
    var type = value.type();
    outs.add(
        switch (destination) {
          case Destination.Inline(var readable) -> {
            if (!readable.contains(type.dtype())) {
              throw new Failure.Refused(
                  Code.NOT_ACCEPTABLE,
                  "outputs." + name,
                  "output \"%s\" is %s, for which the form of the answer has no dtype; ask for another form or keep it as a handle"
                      .formatted(name, type.dtype().text()));
            }
            inlineBytes += type.bytes();
            if (type.bytes() > OpRunner.MOST_INLINE || inlineBytes > OpRunner.MOST_INLINE) {
              throw new Failure.Refused(
                  Code.TOO_LARGE,
                  "outputs." + name,
                  "output \"%s\" is %s, too large to be sent inline; keep it as a handle"
                      .formatted(name, type));
            }
            var host = new HostTensor(type, memory.allocate(type.bytes(), Double.BYTES));
            yield new Out(name, value, null, null, host);
          }
          case Destination.Keep _ -> new Out(name, value, null, tensors.charge(type.bytes()), null);
          case Destination.Into(var handle) -> {
            var field = "outputs." + name + ".into";
            var pin = pins.write(handle, field);
            if (!pin.type().equals(type)) {
              throw new Failure.Refused(
                  Code.SHAPE_MISMATCH,
                  field,
                  "%s is %s, but output \"%s\" is %s; they must be equal"
                      .formatted(field, pin.type(), name, type));
            }
            yield new Out(name, value, pin, null, null);
          }
        });
  }

  /** The tensor of the client into which a value goes, if it does. */
  Optional<DeviceTensor> target(Value value) {
    return outs.stream()
        .filter(out -> out.value == value)
        .flatMap(out -> Optional.ofNullable(out.into).stream())
        .map(Pin::tensor)
        .findFirst();
  }

  /** Copies to the host what goes back with the answer. */
  void download(Stream stream) {
    for (var out : outs) {
      if (out.host != null) {
        stream.download(out.value.tensor().buffer(), 0, out.host.data());
      }
    }
  }

  /** Takes a value's elements from a place in memory that is soon another's. */
  void take(Value value, Stream stream, Buffer source, long offset) {
    for (var out : outs) {
      if (out.value == value) {
        if (out.host != null) {
          stream.download(source, offset, out.host.data());
        } else {
          var own = scratch.tensor(value.type());
          value.lieAt(own);
          stream.copy(source, offset, own.buffer(), 0, value.type().bytes());
        }
      }
    }
  }

  /** Takes all elements from tensors that are as they are until the end of the run, not longer. */
  void takeAll(Stream stream, Function<Value, DeviceTensor> tensors) {
    for (var out : outs) {
      var tensor = tensors.apply(out.value);
      if (out.into == null) {
        take(out.value, stream, tensor.buffer(), tensor.offset());
      } else {
        out.value.lieAt(tensor); // from where commit copies it
      }
    }
  }

  /** Copies the tensors of the client that are about to be overwritten, where they are read. */
  void preserve(DeviceMemory device, Stream stream) {
    for (var out : outs) {
      if (out.into != null) {
        out.into.preserve(buffer -> device.copy(buffer, stream));
      }
    }
  }

  /** Overwrites the tensors of the client. */
  void write(Stream stream) {
    for (var out : outs) {
      if (out.into != null) {
        stream.copy(
            out.value.tensor().buffer(),
            0,
            out.into.tensor().buffer(),
            0,
            out.value.type().bytes());
      }
    }
  }

  /**
   * Makes all visible.
   *
   * @param home where they lie
   */
  Map<String, Result.Output> commit(DeviceStorage home) {
    var results = new LinkedHashMap<String, Result.Output>();
    for (var out : outs) {
      results.put(out.name, commit(out, home));
    }
    return results;
  }

  private Result.Output commit(Out out, DeviceStorage home) {
    if (out.host != null) {
      return new Result.Output.Inline(out.host);
    }
    if (out.into != null) {
      return new Result.Output.Resident(out.into.written());
    }
    var buffer = out.value.tensor().buffer();
    scratch.keep(buffer);
    return new Result.Output.Resident(
        Objects.requireNonNull(out.charge).add(out.value.type(), home, buffer, TensorOptions.NONE));
  }

  /**
   * Gives back what was taken for outputs that are not to be.
   *
   * @param touched whether tensors of the client may hold something new
   */
  void abandon(boolean touched) {
    for (var out : outs) {
      if (out.charge != null) {
        out.charge.close();
      }
      if (out.into != null && touched) {
        out.into.written(); // nobody knows what a kernel that failed has left there
      }
    }
  }
}
