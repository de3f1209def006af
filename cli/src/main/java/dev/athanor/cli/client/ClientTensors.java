package dev.athanor.cli.client;

import dev.athanor.client.DType;
import dev.athanor.client.HostTensor;
import dev.athanor.client.Tensor;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Converts between the tensors of the op library and those of the client. */
public final class ClientTensors {

  /** The size of a part of a download. */
  private static final long PART = 1 << 30;

  private ClientTensors() {}

  /**
   * Returns a view of a tensor.
   *
   * @throws IllegalArgumentException if it has more than 2 GiB
   */
  public static HostTensor of(dev.athanor.ops.HostTensor tensor) {
    if (tensor.data().byteSize() > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "%s has %d bytes; the client uploads at most %d"
              .formatted(tensor.type().text(), tensor.data().byteSize(), Integer.MAX_VALUE));
    }
    var dtype = DType.of(tensor.type().dtype().text());
    var values = HostTensor.of(dtype, tensor.data().asByteBuffer());
    var extents = tensor.type().shape().extents();
    return extents.size() == 1
        ? values
        : values.reshape(extents.stream().mapToLong(Long::longValue).toArray());
  }

  /** Returns a view of a tensor. */
  public static dev.athanor.ops.HostTensor of(HostTensor tensor) {
    return new dev.athanor.ops.HostTensor(
        type(tensor.dtype(), tensor.shape()), MemorySegment.ofBuffer(tensor.buffer()));
  }

  /** Returns the type of a tensor. */
  public static TensorType type(DType dtype, List<Long> shape) {
    return TensorType.of(
        dev.athanor.ops.DType.of(dtype.text()).orElseThrow(),
        shape.stream().mapToLong(Long::longValue).toArray());
  }

  /** Downloads a tensor of any size. */
  public static dev.athanor.ops.HostTensor download(Tensor tensor) {
    var values = dev.athanor.ops.HostTensor.zeros(type(tensor.dtype(), tensor.shape()));
    long size = tensor.byteSize();
    for (long at = 0; at < size; at += PART) {
      var part = values.data().asSlice(at, Math.min(PART, size - at));
      tensor.download(at, part.asByteBuffer());
    }
    return values;
  }
}
