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
import dev.athanor.service.tensor.DeviceStorage;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.TenantTensors;
import dev.athanor.service.tensor.TenantTensors.Charge;
import dev.athanor.service.tensor.TensorOptions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The requested outputs of a run and their destinations. */
final class Outputs {

  /**
   * The destination of one output; exactly one of the nullable components is set.
   *
   * @param into an existing tensor to overwrite
   * @param inPlace whether the run must not copy it
   * @param charge the quota charge of a new resident tensor
   * @param options of a new resident tensor
   * @param host the host copy to send inline
   */
  private record Out(
      String name,
      RunValue value,
      @Nullable Pin into,
      boolean inPlace,
      @Nullable Charge charge,
      TensorOptions options,
      @Nullable HostTensor host) {}

  private final TenantTensors tensors;
  private final Pins pins;
  private final Scratch scratch;
  private final HostAllocator memory;
  private final List<Out> outs = new ArrayList<>();
  private long inlineBytes;

  /**
   * Creates an empty set of outputs.
   *
   * @param memory host memory for inline outputs
   */
  Outputs(TenantTensors tensors, Pins pins, Scratch scratch, HostAllocator memory) {
    this.tensors = tensors;
    this.pins = pins;
    this.scratch = scratch;
    this.memory = memory;
  }

  /** Returns the total size of the inline outputs in bytes. */
  long inlineBytes() {
    return inlineBytes;
  }

  /** Adds an output. */
  void add(String name, RunValue value, Destination destination) {
    var type = value.type();
    outs.add(
        switch (destination) {
          case Destination.Inline(var encodable) -> {
            if (!encodable.contains(type.dtype())) {
              throw new Failure.Refused(
                  Code.NOT_ACCEPTABLE,
                  "outputs." + name,
                  "output \"%s\" is %s, which the response format cannot encode; accept another format or keep the output as a handle"
                      .formatted(name, type.dtype().text()));
            }
            inlineBytes += type.bytes();
            if (type.bytes() > OpRunner.MAX_INLINE_BYTES
                || inlineBytes > OpRunner.MAX_INLINE_BYTES) {
              throw new Failure.Refused(
                  Code.TOO_LARGE,
                  "outputs." + name,
                  "output \"%s\" is %s, which is too large to send inline; keep it as a handle"
                      .formatted(name, type));
            }
            var host = new HostTensor(type, memory.allocate(type.bytes(), Double.BYTES));
            yield new Out(name, value, null, false, null, TensorOptions.NONE, host);
          }
          case Destination.Keep(var options) ->
              new Out(name, value, null, false, tensors.charge(type.bytes()), options, null);
          case Destination.Into(var handle, var version, var inPlace) -> {
            var field = "outputs." + name + ".into";
            var pin = pins.write(handle, field);
            if (!pin.type().equals(type)) {
              throw new Failure.Refused(
                  Code.SHAPE_MISMATCH,
                  field,
                  "%s has type %s, but output \"%s\" has type %s; they must be equal"
                      .formatted(field, pin.type(), name, type));
            }
            if (version != null) {
              pins.expect(pin, version, "outputs." + name + ".version");
            }
            yield new Out(name, value, pin, inPlace, null, TensorOptions.NONE, null);
          }
        });
  }

  /** Returns the existing tensor that a value overwrites, if any. */
  Optional<Pin> target(RunValue value) {
    for (var out : outs) {
      if (out.value == value && out.into != null) {
        return Optional.of(out.into);
      }
    }
    return Optional.empty();
  }

  /**
   * Checks that the outputs which must be computed in place are.
   *
   * @param steps the steps, whose outputs have memory if they are computed in place
   * @throws Failure.Refused with {@code handle-in-use} if a tensor would be copied
   */
  void requireInPlace(List<RunStep> steps) {
    for (var out : outs) {
      if (!out.inPlace || out.into == null) {
        continue;
      }
      var tensor = Optional.of(out.into.tensor());
      boolean inPlace =
          out.value.present().equals(tensor)
              && steps.stream().noneMatch(step -> step.copies(tensor.get()));
      if (!inPlace) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            "outputs." + out.name + ".inPlace",
            "output \"%s\" cannot be computed in place in %s; update the tensor by ops that work in place, after the last step that reads its old contents, or omit inPlace to copy it"
                .formatted(out.name, out.into.handle()));
      }
    }
  }

  /** Returns whether an output becomes a new resident tensor, which needs memory of its own. */
  boolean keeps(RunValue value) {
    return outs.stream().anyMatch(out -> out.value == value && out.charge != null);
  }

  /** Allocates the memory of new resident tensors. */
  Map<RunValue, DeviceTensor> allocateKept() {
    var kept = new HashMap<RunValue, DeviceTensor>();
    for (var out : outs) {
      if (out.charge != null) {
        kept.computeIfAbsent(out.value, value -> scratch.tensor(value.type()));
      }
    }
    return kept;
  }

  /** Copies inline outputs to the host. */
  void download(Stream stream) {
    for (var out : outs) {
      if (out.host != null) {
        var tensor = out.value.tensor();
        stream.download(tensor.buffer(), tensor.offset(), out.host.data());
      }
    }
  }

  /** Copies a value out of memory that will be reused, to the host or to memory of the run. */
  void take(RunValue value, Stream stream, Buffer source, long offset) {
    for (var out : outs) {
      if (out.value == value) {
        if (out.host != null) {
          stream.download(source, offset, out.host.data());
        } else {
          var own = scratch.tensor(value.type());
          value.setTensor(own);
          stream.copy(source, offset, own.buffer(), 0, value.type().bytes());
        }
      }
    }
  }

  /**
   * Copies all outputs out of a graph's memory, which stays intact only until the end of the run.
   *
   * @param kept the memory of new resident tensors
   */
  void takeAll(
      Stream stream, Function<RunValue, DeviceTensor> tensors, Map<RunValue, DeviceTensor> kept) {
    for (var out : outs) {
      var tensor = tensors.apply(out.value);
      var own = kept.get(out.value);
      if (own != null && out.charge != null) {
        stream.copy(tensor.buffer(), tensor.offset(), own.buffer(), 0, out.value.type().bytes());
        out.value.setTensor(own);
      } else if (out.host != null) {
        stream.download(tensor.buffer(), tensor.offset(), out.host.data());
      } else {
        out.value.setTensor(tensor); // commit copies it from here, unless it is in place
      }
    }
  }

  /** Preserves the old contents of target tensors for their current readers (copy-on-write). */
  void preserve(DeviceMemory device, Stream stream) {
    for (var out : outs) {
      if (out.into != null) {
        out.into.preserve(buffer -> device.copy(buffer, stream));
      }
    }
  }

  /** Copies outputs into their target tensors, except those computed in place. */
  void write(Stream stream) {
    for (var out : outs) {
      if (out.into != null) {
        var from = out.value.tensor();
        var to = out.into.tensor();
        if (!from.equals(to)) {
          stream.copy(from.buffer(), from.offset(), to.buffer(), to.offset(), from.type().bytes());
        }
      }
    }
  }

  /**
   * Publishes all outputs.
   *
   * @param storage the device storage that holds them
   */
  Map<String, Result.Output> commit(DeviceStorage storage) {
    var results = new LinkedHashMap<String, Result.Output>();
    for (var out : outs) {
      results.put(out.name, commit(out, storage));
    }
    return results;
  }

  private Result.Output commit(Out out, DeviceStorage storage) {
    if (out.host != null) {
      return new Result.Output.Inline(out.host);
    }
    if (out.into != null) {
      return new Result.Output.Resident(out.into.written());
    }
    var buffer = out.value.tensor().buffer();
    scratch.keep(buffer);
    return new Result.Output.Resident(
        Objects.requireNonNull(out.charge).add(out.value.type(), storage, buffer, out.options));
  }

  /**
   * Releases the reservations of outputs after a failed run.
   *
   * @param touched whether target tensors may have been overwritten
   */
  void abandon(boolean touched) {
    for (var out : outs) {
      if (out.charge != null) {
        out.charge.close();
      }
      if (out.into != null && touched) {
        out.into.written(); // a failed kernel leaves undefined contents
      }
    }
  }
}
