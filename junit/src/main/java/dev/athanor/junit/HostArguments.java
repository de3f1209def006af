package dev.athanor.junit;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The device arguments of a launch. Closing frees the copies of arrays. */
final class HostArguments implements AutoCloseable {
  private final Device device;
  private final Stream stream;
  private final List<Argument> passed = new ArrayList<>();
  private final IdentityHashMap<Object, Copy> copies = new IdentityHashMap<>();

  /** An array or segment on the host and its copy on the device. */
  private record Copy(MemorySegment host, Buffer buffer) {}

  HostArguments(Device device, Stream stream) {
    this.device = device;
    this.stream = stream;
  }

  /**
   * Adds the next argument and copies it to the device if it is an array.
   *
   * @throws IllegalArgumentException if its type is not supported
   */
  void add(Parameter parameter, @Nullable Object given) {
    passed.add(
        switch (given) {
          case Argument argument -> argument;
          case Buffer buffer -> Argument.of(buffer);
          case Float n when parameter.type() == Type.B32 ->
              new Argument.Scalar(Type.B32, Float.floatToRawIntBits(n) & 0xffff_ffffL);
          case Float n -> Argument.of(n);
          case Double n when parameter.type() == Type.B64 ->
              new Argument.Scalar(Type.B64, Double.doubleToRawLongBits(n));
          case Double n -> Argument.of(n);
          case Boolean b -> integer(parameter, b ? 1 : 0);
          case Byte n -> integer(parameter, n);
          case Short n -> integer(parameter, n);
          case Character c -> integer(parameter, c);
          case Integer n -> integer(parameter, n);
          case Long n -> Argument.of(n);
          case MemorySegment segment when parameter.count() != Variable.SCALAR ->
              new Argument.Bytes(segment);
          case null -> throw mismatch(parameter, "null");
          default -> array(parameter, given);
        });
  }

  /** Returns an integer of up to 32 bits, widened if the parameter is wider. */
  private static Argument integer(Parameter parameter, int value) {
    boolean isInteger = parameter.type().kind() != Type.Kind.FLOAT;
    return isInteger ? new Argument.Scalar(parameter.type(), value) : Argument.of(value);
  }

  private Argument array(Parameter parameter, Object given) {
    return Argument.of(copies.computeIfAbsent(given, _ -> copy(segment(parameter, given))).buffer);
  }

  private Copy copy(MemorySegment host) {
    var buffer = device.allocate(Math.max(1, host.byteSize()));
    if (host.byteSize() > 0) {
      stream.upload(host, buffer, 0);
    }
    return new Copy(host, buffer);
  }

  private static MemorySegment segment(Parameter parameter, Object given) {
    return switch (given) {
      case MemorySegment segment -> segment;
      case byte[] array -> MemorySegment.ofArray(array);
      case short[] array -> MemorySegment.ofArray(array);
      case char[] array -> MemorySegment.ofArray(array);
      case int[] array -> MemorySegment.ofArray(array);
      case long[] array -> MemorySegment.ofArray(array);
      case float[] array -> MemorySegment.ofArray(array);
      case double[] array -> MemorySegment.ofArray(array);
      default -> throw mismatch(parameter, given.getClass().getSimpleName());
    };
  }

  private static IllegalArgumentException mismatch(Parameter parameter, String given) {
    return new IllegalArgumentException(
        "%s is .%s, got %s; pass a number, an array of numbers, a MemorySegment, a Buffer or an Argument"
            .formatted(parameter.name(), parameter.type().word(), given));
  }

  List<Argument> list() {
    return List.copyOf(passed);
  }

  /** Copies the arrays back to the host and waits for completion. */
  void copyBack() {
    for (var copy : copies.values()) {
      if (copy.host.byteSize() > 0 && !copy.host.isReadOnly()) {
        stream.download(copy.buffer, 0, copy.host);
      }
    }
    stream.synchronize();
  }

  @Override
  public void close() {
    copies.values().forEach(copy -> copy.buffer.close());
  }
}
