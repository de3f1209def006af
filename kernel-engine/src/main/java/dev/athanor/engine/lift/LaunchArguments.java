package dev.athanor.engine.lift;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.lift.ir.Argument.Kind;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.ptx.Kernel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The arguments of one launch, on the device. Closing frees the copies of arrays. */
final class LaunchArguments implements AutoCloseable {

  /** Indices of longer arrays plus small literals would overflow an int unnoticed. */
  private static final long MAX_LENGTH = (1L << 31) - (1L << 20);

  private final CompiledKernel code;
  private final Map<String, Argument> values = new HashMap<>();
  private final List<Copy> copies = new ArrayList<>();

  /**
   * An array or segment of the host and its memory on the device.
   *
   * @param given the argument; the segment is a copy of it if it is an array of booleans
   */
  private record Copy(MemorySegment host, Buffer buffer, boolean isWritten, Object given) {}

  private LaunchArguments(CompiledKernel code) {
    this.code = code;
  }

  /**
   * Checks arguments and copies them to the device.
   *
   * @throws IllegalArgumentException if they do not match the parameters
   */
  static LaunchArguments of(CompiledKernel code, Object[] arguments, Device device, Stream stream) {
    var parameters = code.arguments();
    if (arguments.length != parameters.size()) {
      throw new IllegalArgumentException(
          "%s has %d parameters, got %d arguments"
              .formatted(code.name(), parameters.size(), arguments.length));
    }
    var result = new LaunchArguments(code);
    result.checkAliases(arguments);
    try {
      for (int i = 0; i < arguments.length; i++) {
        result.pass(parameters.get(i), arguments[i], device, stream);
      }
    } catch (RuntimeException e) {
      result.close();
      throw e;
    }
    return result;
  }

  /** Memory that the kernel writes must be reached through one parameter only. */
  private void checkAliases(Object[] arguments) {
    var parameters = code.arguments();
    for (int i = 0; i < arguments.length; i++) {
      for (int k = 0; k < i; k++) {
        var written =
            List.of(parameters.get(k), parameters.get(i)).stream()
                .map(dev.athanor.engine.lift.ir.Argument::name)
                .filter(code.written()::contains)
                .findFirst();
        boolean isMemory =
            parameters.get(k).kind() != Kind.SCALAR && parameters.get(i).kind() != Kind.SCALAR;
        var shared = isMemory ? sharedMemory(arguments[k], arguments[i]) : "";
        if (written.isPresent() && !shared.isEmpty()) {
          throw new IllegalArgumentException(
              "`%s` and `%s` %s, and %s writes `%s`; pass different arrays"
                  .formatted(
                      parameters.get(k).name(),
                      parameters.get(i).name(),
                      shared,
                      code.name(),
                      written.get()));
        }
      }
    }
  }

  /** Returns words for the memory that two arguments share; empty if they share none. */
  @SuppressWarnings("ReferenceEquality")
  private static String sharedMemory(@Nullable Object one, @Nullable Object other) {
    if (one == null || other == null) {
      return "";
    }
    if (one == other) {
      return "are the same memory";
    }
    return hostMemory(one)
        .flatMap(memory -> hostMemory(other).flatMap(memory::asOverlappingSlice))
        .map(overlap -> "overlap in %d bytes".formatted(overlap.byteSize()))
        .orElse("");
  }

  private void pass(
      dev.athanor.engine.lift.ir.Argument parameter,
      @Nullable Object given,
      Device device,
      Stream stream) {
    if (parameter.kind() == Kind.SCALAR) {
      values.put(parameter.parameterName(), scalar(parameter, given));
    } else if (given instanceof Buffer buffer) {
      putMemory(parameter, buffer, buffer.bytes() / parameter.element().bytes());
    } else {
      upload(parameter, given, device, stream);
    }
  }

  private void upload(
      dev.athanor.engine.lift.ir.Argument parameter,
      @Nullable Object given,
      Device device,
      Stream stream) {
    var host = segment(parameter, given);
    var buffer = device.allocate(Math.max(1, host.byteSize()));
    copies.add(
        new Copy(
            host,
            buffer,
            code.written().contains(parameter.name()),
            Objects.requireNonNull(given)));
    if (host.byteSize() > 0) {
      stream.upload(host, buffer, 0);
    }
    putMemory(parameter, buffer, host.byteSize() / parameter.element().bytes());
  }

  private void putMemory(
      dev.athanor.engine.lift.ir.Argument parameter, Buffer buffer, long length) {
    if (parameter.kind() == Kind.ARRAY && length > MAX_LENGTH) {
      throw new IllegalArgumentException(
          "`%s` has %d elements; arrays of a kernel have at most %d"
              .formatted(parameter.name(), length, MAX_LENGTH));
    }
    values.put(parameter.parameterName(), Argument.of(buffer));
    values.put(
        parameter.lengthName(),
        parameter.kind() == Kind.ARRAY ? Argument.of((int) length) : Argument.of(length));
  }

  private static MemorySegment segment(
      dev.athanor.engine.lift.ir.Argument parameter, @Nullable Object given) {
    if (parameter.kind() == Kind.SEGMENT && given instanceof MemorySegment segment) {
      return segment;
    }
    var type = given == null ? null : given.getClass().getComponentType();
    if (parameter.kind() == Kind.SEGMENT
        || given == null
        || type == null
        || !type.getName().equals(parameter.element().word())) {
      throw mismatch(parameter, given);
    }
    if (given instanceof boolean[] array) {
      var bytes = new byte[array.length];
      for (int i = 0; i < array.length; i++) {
        bytes[i] = (byte) (array[i] ? 1 : 0);
      }
      return MemorySegment.ofArray(bytes);
    }
    return hostMemory(given).orElseThrow(() -> mismatch(parameter, given));
  }

  /**
   * Returns the memory of a segment or an array; empty for booleans, which have no fixed layout.
   */
  private static Optional<MemorySegment> hostMemory(Object given) {
    return switch (given) {
      case MemorySegment segment -> Optional.of(segment);
      case byte[] array -> Optional.of(MemorySegment.ofArray(array));
      case short[] array -> Optional.of(MemorySegment.ofArray(array));
      case char[] array -> Optional.of(MemorySegment.ofArray(array));
      case int[] array -> Optional.of(MemorySegment.ofArray(array));
      case long[] array -> Optional.of(MemorySegment.ofArray(array));
      case float[] array -> Optional.of(MemorySegment.ofArray(array));
      case double[] array -> Optional.of(MemorySegment.ofArray(array));
      default -> Optional.empty();
    };
  }

  private static Argument scalar(
      dev.athanor.engine.lift.ir.Argument parameter, @Nullable Object given) {
    return switch (given) {
      case Boolean b when parameter.element() == Element.BOOLEAN -> Argument.of(b ? 1 : 0);
      case Character c when parameter.element() == Element.CHAR -> Argument.of((int) c);
      case Byte n when parameter.element() == Element.BYTE -> Argument.of(n.intValue());
      case Short n when parameter.element() == Element.SHORT -> Argument.of(n.intValue());
      case Integer n when parameter.element() == Element.INT -> Argument.of(n.intValue());
      case Integer n when parameter.element() == Element.LONG -> Argument.of(n.longValue());
      case Long n when parameter.element() == Element.LONG -> Argument.of(n.longValue());
      case Float n when parameter.element() == Element.FLOAT -> Argument.of(n.floatValue());
      case Double n when parameter.element() == Element.DOUBLE -> Argument.of(n.doubleValue());
      case null, default -> throw mismatch(parameter, given);
    };
  }

  private static IllegalArgumentException mismatch(
      dev.athanor.engine.lift.ir.Argument parameter, @Nullable Object given) {
    var wanted =
        switch (parameter.kind()) {
          case SCALAR -> parameter.element().word();
          case ARRAY -> parameter.element().word() + "[] or a Buffer";
          case SEGMENT -> "MemorySegment or a Buffer";
        };
    var got =
        given == null
            ? "null"
            : given.getClass().isArray()
                ? "%s[%d]"
                    .formatted(
                        given.getClass().getComponentType().getName(), Array.getLength(given))
                : given.getClass().getSimpleName();
    return new IllegalArgumentException(
        "`%s` is %s, got %s".formatted(parameter.name(), wanted, got));
  }

  void put(String parameter, Argument argument) {
    values.put(parameter, argument);
  }

  /** Returns the arguments in the order of the kernel's parameters. */
  List<Argument> list(Kernel kernel) {
    return kernel.parameters().stream()
        .map(parameter -> Objects.requireNonNull(values.get(parameter.name()), parameter::name))
        .toList();
  }

  /** Copies the written arrays to the host. */
  void copyBack(Stream stream) {
    for (var copy : copies) {
      if (copy.isWritten && copy.host.byteSize() > 0) {
        stream.download(copy.buffer, 0, copy.host);
        stream.synchronize();
        if (copy.given instanceof boolean[] flags) {
          for (int i = 0; i < flags.length; i++) {
            flags[i] = copy.host.get(ValueLayout.JAVA_BYTE, i) != 0;
          }
        }
      }
    }
  }

  @Override
  public void close() {
    copies.forEach(copy -> copy.buffer.close());
  }
}
