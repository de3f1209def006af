package dev.athanor.engine.lift;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.lift.ir.ElementType;
import dev.athanor.engine.lift.marshal.HostArray;
import java.lang.reflect.Array;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An array of numbers, booleans or records of these in the memory of a device. Launches take it in
 * place of an array of the host and copy nothing. Work on it that streams have enqueued completes
 * before other streams use it and before the host copies it.
 *
 * <p>One thread at a time may use a device array and the stream that used it last.
 *
 * @param <A> type of the array in Java, such as {@code float[]}
 */
public final class DeviceArray<A> implements AutoCloseable {
  private final Device device;
  private final Class<A> type;
  private final ElementType element;
  private final int length;
  private final Buffer buffer;
  private @Nullable KernelStream lastUser;

  private DeviceArray(Device device, Class<A> type, int length) {
    this.device = device;
    this.type = type;
    this.element =
        HostArray.element(type)
            .orElseThrow(() ->
                new IllegalArgumentException(
                    "a device array has elements of a primitive type or records of these; got "
                        + type.getSimpleName()));
    this.length = length;
    if (length < 0) {
      throw new IllegalArgumentException("an array has at least 0 elements, got " + length);
    }
    this.buffer = device.allocate(Math.max(1, (long) length * element.bytes()));
  }

  /**
   * Allocates an array, whose elements are undefined.
   *
   * @param type such as {@code float[].class}
   * @param length number of elements
   * @throws DeviceException.OutOfMemory if not enough memory is free
   */
  public static <A> DeviceArray<A> allocate(Device device, Class<A> type, int length) {
    return new DeviceArray<>(device, type, length);
  }

  /**
   * Copies an array to a device.
   *
   * @throws DeviceException.OutOfMemory if not enough memory is free
   */
  public static <A> DeviceArray<A> copyOf(Device device, A array) {
    @SuppressWarnings("unchecked") // the class of a value of A, which is no generic type
    var type = (Class<A>) array.getClass();
    var result = allocate(device, type, type.isArray() ? Array.getLength(array) : 0);
    result.copyFrom(array);
    return result;
  }

  /** Returns the number of elements. */
  public int length() {
    return length;
  }

  /** Returns the memory. It has one byte if the array is empty. */
  public Buffer buffer() {
    return buffer;
  }

  /**
   * Replaces all elements by those of an array of the same length.
   *
   * @throws CheckFailedException if a check of work on this array failed
   */
  public void copyFrom(A source) {
    requireLength(source);
    var host = HostArray.of(source).orElseThrow();
    transfer(stream -> stream.upload(host.memory(), buffer, 0));
  }

  /**
   * Copies all elements to an array of the same length. Records that differ are replaced by new
   * ones.
   *
   * @throws CheckFailedException if a check of work on this array failed
   */
  public void copyTo(A target) {
    requireLength(target);
    var host = HostArray.toUpdate(target).orElseThrow();
    transfer(stream -> stream.download(buffer, 0, host.memory()));
    host.update();
  }

  /**
   * Returns the elements.
   *
   * @throws CheckFailedException if a check of work on this array failed
   */
  public A toArray() {
    var result = type.cast(Array.newInstance(type.getComponentType(), length));
    copyTo(result);
    return result;
  }

  private void requireLength(A array) {
    if (Array.getLength(array) != length) {
      throw new IllegalArgumentException(
          "the array on the device has %d elements, that of the host has %d"
              .formatted(length, Array.getLength(array)));
    }
  }

  private void transfer(Consumer<Stream> copy) {
    var user = lastUser;
    if (user != null) {
      user.finish();
      lastUser = null;
    }
    if (length > 0) {
      try (var stream = device.openStream()) {
        copy.accept(stream);
        stream.synchronize();
      }
    }
  }

  ElementType element() {
    return element;
  }

  /** Makes a stream wait for the work of others on this array. */
  void useOn(KernelStream stream) {
    var user = lastUser;
    if (user != null && !user.equals(stream)) {
      stream.awaitWorkOf(user);
    }
    lastUser = stream;
  }

  /** Frees the memory after the work enqueued before. Closing twice has no effect. */
  @Override
  public void close() {
    buffer.close();
  }

  @Override
  public String toString() {
    return "DeviceArray<%s> of length %d".formatted(type.getSimpleName(), length);
  }
}
