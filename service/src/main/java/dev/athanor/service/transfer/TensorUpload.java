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
 * An upload of a tensor in pieces. The tensor is not visible to others before the last piece has
 * arrived. An upload is reference-counted: the request handler and the job of each piece hold it,
 * and the last one releases its resources.
 */
abstract class TensorUpload implements AutoCloseable {

  private final DeviceMemory memory;
  private final AtomicInteger holders = new AtomicInteger(1);
  private @Nullable TensorInfo info;

  private TensorUpload(DeviceMemory memory) {
    this.memory = memory;
  }

  /** Adds a reference. */
  final TensorUpload hold() {
    holders.incrementAndGet();
    return this;
  }

  final DeviceMemory memory() {
    return memory;
  }

  /**
   * Stores a piece without making it visible to others.
   *
   * @param offset the byte offset of the piece within the tensor
   */
  abstract void accept(Stream stream, MemorySegment piece, long offset, boolean isLast);

  /**
   * Publishes the tensor after all pieces have arrived.
   *
   * @param last the last piece
   * @param offset the byte offset of the piece within the tensor
   */
  final void finish(Stream stream, MemorySegment last, long offset) {
    info = publish(stream, last, offset);
  }

  /** Stores the last piece if necessary and makes the tensor visible. */
  abstract TensorInfo publish(Stream stream, MemorySegment last, long offset);

  final boolean isFinished() {
    return info != null;
  }

  /** Returns the description of the finished tensor. */
  final TensorInfo info() {
    return Objects.requireNonNull(info, "the upload is finished");
  }

  @Override
  public final void close() {
    if (holders.decrementAndGet() == 0) {
      release();
    }
  }

  /** Releases all resources except those that a published tensor owns. */
  abstract void release();

  /** The upload of a new resident tensor. */
  static final class New extends TensorUpload {
    private final TensorType type;
    private final Charge charge;
    private final TensorOptions options;
    private @Nullable Buffer buffer;

    /**
     * Creates the upload of a new tensor.
     *
     * @param charge its quota charge, released if the upload fails
     */
    New(DeviceMemory memory, TensorType type, Charge charge, TensorOptions options) {
      super(memory);
      this.type = type;
      this.charge = charge;
      this.options = options;
    }

    @Override
    void accept(Stream stream, MemorySegment piece, long offset, boolean isLast) {
      if (buffer == null) {
        buffer = memory().allocateForWriting(type.bytes());
      }
      stream.upload(piece, buffer, offset);
    }

    @Override
    TensorInfo publish(Stream stream, MemorySegment last, long offset) {
      return charge.add(type, memory(), Objects.requireNonNull(buffer), options);
    }

    @Override
    void release() {
      if (!isFinished()) {
        charge.close();
        if (buffer != null) {
          memory().free(buffer);
        }
      }
    }
  }

  /**
   * An upload that replaces the contents of an existing tensor. Pieces are buffered until the last
   * one has arrived, on the device or, if its memory is full, on the host. An upload that misses
   * its deadline changes nothing.
   */
  static final class Replacing extends TensorUpload {
    private final Pin pin;
    private @Nullable Buffer deviceCopy;
    private @Nullable HostMemory hostCopy;
    private boolean touched;

    /** Takes over the pin and closes it on release. */
    Replacing(DeviceMemory memory, Pin pin) {
      super(memory);
      this.pin = pin;
    }

    @Override
    void accept(Stream stream, MemorySegment piece, long offset, boolean isLast) {
      if (isLast) {
        return; // publish uploads the last piece directly
      }
      if (deviceCopy == null && hostCopy == null) {
        reserve();
      }
      if (deviceCopy != null) {
        stream.upload(piece, deviceCopy, offset);
      } else {
        MemorySegment.copy(
            piece, 0, Objects.requireNonNull(hostCopy).segment(), offset, piece.byteSize());
      }
    }

    private void reserve() {
      long bytes = pin.type().bytes();
      try {
        deviceCopy = memory().spareForWriting(bytes);
      } catch (DeviceException.OutOfMemory e) {
        hostCopy = memory().allocateHost(bytes);
      }
    }

    @Override
    TensorInfo publish(Stream stream, MemorySegment last, long offset) {
      pin.preserve(buffer -> memory().copy(buffer, stream));
      touched = true;
      var target = pin.tensor().buffer();
      if (deviceCopy != null) {
        stream.copy(deviceCopy, 0, target, 0, offset);
      } else if (hostCopy != null) {
        stream.upload(hostCopy.segment().asSlice(0, offset), target, 0);
      }
      stream.upload(last, target, offset);
      stream.synchronize();
      return pin.written();
    }

    @Override
    void release() {
      if (touched && !isFinished()) {
        pin.written(); // a failed copy leaves undefined contents
      }
      if (deviceCopy != null) {
        memory().free(deviceCopy);
      }
      if (hostCopy != null) {
        hostCopy.close();
      }
      pin.close();
    }
  }
}
