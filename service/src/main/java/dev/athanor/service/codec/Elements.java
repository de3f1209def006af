package dev.athanor.service.codec;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The elements of a tensor from a client, little-endian and row-major. They are read in pieces, so
 * that at most one piece is in memory.
 */
public abstract class Elements {

  private final TensorType type;
  private long at;

  private Elements(TensorType type) {
    this.type = type;
  }

  /** Returns the elements of a tensor in memory. */
  public static Elements of(HostTensor tensor) {
    return of(tensor.type(), () -> tensor);
  }

  /** Returns elements that are all 0. */
  public static Elements zeros(TensorType type) {
    return new Elements(type) {
      @Override
      void fill(MemorySegment target, long from) {
        target.fill((byte) 0);
      }
    };
  }

  /** Reads a complete tensor. */
  interface Whole {
    HostTensor read() throws IOException;
  }

  /** Returns the elements of a tensor that must be read as a whole. */
  static Elements of(TensorType type, Whole whole) {
    return new Elements(type) {
      private @Nullable HostTensor tensor;

      @Override
      void fill(MemorySegment target, long from) throws IOException {
        if (tensor == null) {
          tensor = whole.read();
        }
        MemorySegment.copy(tensor.data(), from, target, 0, target.byteSize());
      }
    };
  }

  /**
   * Returns the elements of a stream that must end after them.
   *
   * @param bigEndian whether elements are big-endian
   * @param limit maximum number of bytes
   * @param field the path of the tensor in the request
   * @throws Failure with {@code too-large} if the type exceeds the limit
   */
  public static Elements of(
      TensorType type, ByteSource in, boolean bigEndian, long limit, String field) {
    Tensors.checkSize(type, limit, field);
    return new Elements(type) {
      @Override
      void fill(MemorySegment target, long from) throws IOException {
        var buffer = target.asByteBuffer();
        while (buffer.hasRemaining()) {
          if (in.read(buffer) < 0) {
            throw Tensors.wrongSize(type, from + buffer.position(), field);
          }
        }
        if (from + target.byteSize() == type.bytes() && in.read() >= 0) {
          throw Tensors.tooMany(type, field);
        }
        Tensors.checkElements(type, target, from, field);
        if (bigEndian) {
          swap(target, type.dtype().bytes());
        }
      }
    };
  }

  /** Returns the little-endian elements of a stream that must end after them. */
  public static Elements of(TensorType type, ByteSource in, long limit, String field) {
    return of(type, in, false, limit, field);
  }

  /** Reverses the bytes of each element. */
  static void swap(MemorySegment data, int width) {
    for (long at = 0; at < data.byteSize(); at += width) {
      switch (width) {
        case 1 -> {
          return;
        }
        case 2 ->
            data.set(
                JAVA_SHORT_UNALIGNED, at, Short.reverseBytes(data.get(JAVA_SHORT_UNALIGNED, at)));
        case 4 ->
            data.set(
                JAVA_INT_UNALIGNED, at, Integer.reverseBytes(data.get(JAVA_INT_UNALIGNED, at)));
        case 8 ->
            data.set(JAVA_LONG_UNALIGNED, at, Long.reverseBytes(data.get(JAVA_LONG_UNALIGNED, at)));
        default ->
            throw new IllegalArgumentException(
                "unsupported element size of %d bytes".formatted(width));
      }
    }
  }

  public final TensorType type() {
    return type;
  }

  /** Returns the number of bytes read. */
  public final long at() {
    return at;
  }

  /** Returns the number of bytes left to read. */
  public final long left() {
    return type.bytes() - at;
  }

  /**
   * Reads as many elements as fit into {@code target}, or all that are left.
   *
   * @param target at most 2 GiB; its size is a multiple of the element size or covers all that is
   *     left
   * @return the part of {@code target} that was filled
   * @throws Failure with {@code invalid-tensor} if the number of bytes does not match the type, or
   *     a bool is neither 0 nor 1
   */
  public final MemorySegment read(MemorySegment target) throws IOException {
    var filled = target.asSlice(0, Math.min(target.byteSize(), left()));
    fill(filled, at);
    at += filled.byteSize();
    return filled;
  }

  /** Reads all elements into heap memory. */
  public final HostTensor toTensor() throws IOException {
    var tensor = HostTensor.zeros(type);
    read(tensor.data());
    return tensor;
  }

  /** Fills {@code target} with the elements at byte offset {@code from}. */
  abstract void fill(MemorySegment target, long from) throws IOException;
}
