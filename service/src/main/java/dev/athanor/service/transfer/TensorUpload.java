package dev.athanor.service.transfer;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.TensorType;
import dev.athanor.service.device.DeviceMemory;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.TenantTensors.Charge;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A tensor that comes to a device piece by piece, and is nobody's before the last has come. Whoever
 * brings the pieces holds it, and so does the job that is at work on one; the last to let go gives
 * back what was taken.
 */
abstract class TensorUpload implements AutoCloseable {

  private final DeviceMemory memory;
  private final AtomicInteger holders = new AtomicInteger(1);
  private @Nullable TensorInfo info;

  private TensorUpload(DeviceMemory memory) {
    this.memory = memory;
  }

  /** One more holds it. */
  final TensorUpload hold() {
    holders.incrementAndGet();
    return this;
  }

  final DeviceMemory memory() {
    return memory;
  }

  /**
   * Takes a piece in, in a way that others cannot see.
   *
   * @param at where in the tensor it begins, in bytes
   */
  abstract void take(Stream stream, MemorySegment piece, long at, boolean isLast);

  /**
   * Makes the tensor visible to others, now that all pieces have come.
   *
   * @param last the piece that came last
   * @param at where in the tensor it begins, in bytes
   */
  final void finish(Stream stream, MemorySegment last, long at) {
    info = show(stream, last, at);
  }

  abstract TensorInfo show(Stream stream, MemorySegment last, long at);

  final boolean isFinished() {
    return info != null;
  }

  /** What the tensor is now that it is finished. */
  final TensorInfo info() {
    return Objects.requireNonNull(info, "it is finished");
  }

  @Override
  public final void close() {
    if (holders.decrementAndGet() == 0) {
      giveBack();
    }
  }

  /** Gives back what was taken, but for what a tensor has now. */
  abstract void giveBack();

  /** A tensor that becomes resident. */
  static final class New extends TensorUpload {
    private final TensorType type;
    private final Charge charge;
    private final TensorOptions options;
    private @Nullable Buffer buffer;

    /**
     * A tensor that becomes resident.
     *
     * @param charge its share of the quota, which is given back if it does not
     */
    New(DeviceMemory memory, TensorType type, Charge charge, TensorOptions options) {
      super(memory);
      this.type = type;
      this.charge = charge;
      this.options = options;
    }

    @Override
    void take(Stream stream, MemorySegment piece, long at, boolean isLast) {
      if (buffer == null) {
        buffer = memory().allocate(type.bytes());
      }
      stream.upload(piece, buffer, at);
    }

    @Override
    TensorInfo show(Stream stream, MemorySegment last, long at) {
      return charge.add(type, memory(), Objects.requireNonNull(buffer), options);
    }

    @Override
    void giveBack() {
      if (!isFinished()) {
        charge.close();
        if (buffer != null) {
          memory().free(buffer);
        }
      }
    }
  }

  /**
   * New contents of a tensor that is there. They wait beside it until the last piece has come, on
   * its device or, where that is full, on the host; a call that is too late changes nothing.
   */
  static final class Replacing extends TensorUpload {
    private final Pin pin;
    private @Nullable Buffer beside;
    private @Nullable HostMemory onHost;
    private boolean touched;

    /** Holds the tensor, too, until it is given back. */
    Replacing(DeviceMemory memory, Pin pin) {
      super(memory);
      this.pin = pin;
    }

    @Override
    void take(Stream stream, MemorySegment piece, long at, boolean isLast) {
      if (isLast) {
        return; // it goes straight to where it belongs
      }
      if (beside == null && onHost == null) {
        reserve();
      }
      if (beside != null) {
        stream.upload(piece, beside, at);
      } else {
        MemorySegment.copy(
            piece, 0, Objects.requireNonNull(onHost).segment(), at, piece.byteSize());
      }
    }

    private void reserve() {
      long bytes = pin.type().bytes();
      try {
        beside = memory().spare(bytes);
      } catch (DeviceException.OutOfMemory e) {
        onHost = memory().allocateHost(bytes);
      }
    }

    @Override
    TensorInfo show(Stream stream, MemorySegment last, long at) {
      pin.preserve(buffer -> memory().copy(buffer, stream));
      touched = true;
      var target = pin.tensor().buffer();
      if (beside != null) {
        stream.copy(beside, 0, target, 0, at);
      } else if (onHost != null) {
        stream.upload(onHost.segment().asSlice(0, at), target, 0);
      }
      stream.upload(last, target, at);
      stream.synchronize();
      return pin.written();
    }

    @Override
    void giveBack() {
      if (touched && !isFinished()) {
        pin.written(); // nobody knows what a copy that failed has left there
      }
      if (beside != null) {
        memory().free(beside);
      }
      if (onHost != null) {
        onHost.close();
      }
      pin.close();
    }
  }
}
