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
 * The elements of a tensor on their way from a client, little-endian and row-major: read piece by
 * piece, so that no more of them is held at once than a piece.
 */
public abstract class Elements {

  private final TensorType type;
  private long at;

  private Elements(TensorType type) {
    this.type = type;
  }

  /** Those of a tensor that is here as a whole. */
  public static Elements of(HostTensor tensor) {
    return of(tensor.type(), () -> tensor);
  }

  /** What reads a tensor as a whole. */
  interface Whole {
    HostTensor read() throws IOException;
  }

  /** Those of a tensor of which nothing is known before all of it was read. */
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
   * Those that a client sends, after which nothing may follow.
   *
   * @param bigEndian whether the bytes of each element come in the other order
   * @param limit how many bytes there may be
   * @param field where they stand in the request
   * @throws Failure with {@code too-large} when the type takes more than the limit
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

  /** Those that a client sends as they are, after which nothing may follow. */
  public static Elements of(TensorType type, ByteSource in, long limit, String field) {
    return of(type, in, false, limit, field);
  }

  /** Turns the bytes of each element around. */
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
        default -> throw new IllegalArgumentException("an element has %d bytes".formatted(width));
      }
    }
  }

  public final TensorType type() {
    return type;
  }

  /** How many bytes were read. */
  public final long at() {
    return at;
  }

  /** How many bytes are still to be read. */
  public final long left() {
    return type.bytes() - at;
  }

  /**
   * Reads as many elements as there is room for, or as are left.
   *
   * @param target of a size that is a multiple of an element's, if not of all that is left; at most
   *     2 GiB
   * @return where in {@code target} they are
   * @throws Failure with {@code invalid-tensor} when there are fewer or more bytes than the type
   *     says, or a bool is neither 0 nor 1
   */
  public final MemorySegment read(MemorySegment target) throws IOException {
    var filled = target.asSlice(0, Math.min(target.byteSize(), left()));
    fill(filled, at);
    at += filled.byteSize();
    return filled;
  }

  /** Reads all, here on the heap. */
  public final HostTensor toTensor() throws IOException {
    var tensor = HostTensor.zeros(type);
    read(tensor.data());
    return tensor;
  }

  /** Reads the elements that begin with a byte of the tensor, as many as {@code target} takes. */
  abstract void fill(MemorySegment target, long from) throws IOException;
}
