package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.ir.Argument.MAX_LENGTH;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.lift.ir.Argument.Kind;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.marshal.HostArray;
import dev.athanor.engine.lift.marshal.PassedComponent;
import dev.athanor.engine.ptx.Kernel;
import java.lang.foreign.MemorySegment;
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

  private final CompiledKernel code;
  private final Map<String, Argument> values = new HashMap<>();
  private final List<Copy> copies = new ArrayList<>();

  private final List<DeviceArray<?>> deviceArrays = new ArrayList<>();

  /** Where arrays of the host are copied; null if they are refused. */
  private final @Nullable KernelStream uploads;

  /** An array or segment of the host and its memory on the device. */
  private record Copy(HostArray host, Buffer buffer, boolean isWritten) {}

  private LaunchArguments(CompiledKernel code, @Nullable KernelStream uploads) {
    this.code = code;
    this.uploads = uploads;
  }

  /**
   * Checks arguments and copies them to the device.
   *
   * @throws IllegalArgumentException if they do not match the parameters
   */
  static LaunchArguments of(CompiledKernel code, Object[] arguments, KernelStream stream) {
    return new LaunchArguments(code, stream).with(arguments);
  }

  /**
   * Checks arguments, whose arrays are on the device.
   *
   * @throws IllegalArgumentException if they do not match the parameters, or are in memory of the
   *     host
   */
  static LaunchArguments ofDevice(CompiledKernel code, Object[] arguments) {
    return new LaunchArguments(code, null).with(arguments);
  }

  private LaunchArguments with(Object[] given) {
    if (given.length != code.parameters().size()) {
      throw new IllegalArgumentException(
          "%s has %d parameters, got %d arguments"
              .formatted(code.name(), code.parameters().size(), given.length));
    }
    var arguments = new ArrayList<@Nullable Object>();
    for (int i = 0; i < given.length; i++) {
      var parameter = code.parameters().get(i);
      add(parameter.name(), parameter.type(), given[i], arguments);
    }
    var parameters = code.arguments();
    checkAliases(parameters, arguments);
    try {
      for (int i = 0; i < parameters.size(); i++) {
        pass(parameters.get(i), arguments.get(i));
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
    return this;
  }

  /** Adds what is passed for a value: the components of a record, the ordinal of an enum. */
  @SuppressWarnings("EnumOrdinal") // which kernels have in place of the constant
  private static void add(
      String name, Class<?> type, @Nullable Object given, List<@Nullable Object> arguments) {
    if (!type.isRecord() && !type.isEnum()) {
      arguments.add(given);
    } else if (!type.isInstance(given)) {
      throw mismatch(name, type.getSimpleName(), given);
    } else if (given instanceof Enum<?> constant) {
      arguments.add(constant.ordinal());
    } else if (given != null) {
      for (var each : PassedComponent.of(type)) {
        add(name + "." + each.name(), each.type(), each.in(given), arguments);
      }
    }
  }

  /** Memory that the kernel writes must be reached through one parameter only. */
  private void checkAliases(
      List<dev.athanor.engine.lift.ir.Argument> parameters, List<@Nullable Object> arguments) {
    for (int i = 0; i < parameters.size(); i++) {
      for (int k = 0; k < i; k++) {
        boolean isMemory =
            parameters.get(k).kind() != Kind.SCALAR && parameters.get(i).kind() != Kind.SCALAR;
        var shared = isMemory ? sharedMemory(arguments.get(k), arguments.get(i)) : "";
        if (shared.isEmpty()) {
          continue;
        }
        var written =
            List.of(parameters.get(k), parameters.get(i)).stream()
                .map(dev.athanor.engine.lift.ir.Argument::name)
                .filter(code.written()::contains)
                .findFirst();
        if (written.isPresent()) {
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
    if (memory(one) == memory(other)) {
      return "are the same memory";
    }
    return HostArray.memoryOf(one)
        .flatMap(memory -> HostArray.memoryOf(other).flatMap(memory::asOverlappingSlice))
        .map(overlap -> "overlap in %d bytes".formatted(overlap.byteSize()))
        .orElse("");
  }

  private static Object memory(Object given) {
    return given instanceof DeviceArray<?> array ? array.buffer() : given;
  }

  private void pass(dev.athanor.engine.lift.ir.Argument parameter, @Nullable Object given) {
    switch (given) {
      case Object number when parameter.kind() == Kind.SCALAR ->
          values.put(parameter.parameterName(), scalar(parameter, number));
      case Buffer buffer ->
          putMemory(parameter, buffer, buffer.bytes() / parameter.element().bytes());
      case DeviceArray<?> array
          when parameter.kind() == Kind.ARRAY && array.element().equals(parameter.element()) -> {
        deviceArrays.add(array);
        putMemory(parameter, array.buffer(), array.length());
      }
      case null, default -> upload(parameter, hostArray(parameter, given));
    }
  }

  private void upload(dev.athanor.engine.lift.ir.Argument parameter, HostArray host) {
    if (uploads == null) {
      throw new IllegalArgumentException(
          "`%s` is in memory of the host, and this launch is not awaited; pass %s"
              .formatted(parameter.name(), onDevice(parameter)));
    }
    long bytes = host.memory().byteSize();
    var buffer = uploads.device().allocate(Math.max(1, bytes));
    copies.add(new Copy(host, buffer, code.written().contains(parameter.name())));
    if (bytes > 0) {
      uploads.stream().upload(host.memory(), buffer, 0);
    }
    putMemory(parameter, buffer, bytes / parameter.element().bytes());
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

  private static HostArray hostArray(
      dev.athanor.engine.lift.ir.Argument parameter, @Nullable Object given) {
    boolean matches =
        parameter.kind() == Kind.SEGMENT
            ? given instanceof MemorySegment
            : given != null
                && HostArray.element(given.getClass()).equals(Optional.of(parameter.element()));
    if (given == null || !matches || parameter.kind() == Kind.SCALAR) {
      throw mismatch(parameter, given);
    }
    return HostArray.of(given).orElseThrow();
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
          case ARRAY -> "%s[], %s".formatted(parameter.element().word(), onDevice(parameter));
          case SEGMENT -> "MemorySegment or " + onDevice(parameter);
        };
    return mismatch(parameter.name(), wanted, given);
  }

  private static IllegalArgumentException mismatch(
      String name, String wanted, @Nullable Object given) {
    var got =
        switch (given) {
          case null -> "null";
          case DeviceArray<?> array -> array.toString();
          case Object array when array.getClass().isArray() ->
              "%s[%d]"
                  .formatted(array.getClass().getComponentType().getName(), Array.getLength(array));
          default -> given.getClass().getSimpleName();
        };
    return new IllegalArgumentException("`%s` is %s, got %s".formatted(name, wanted, got));
  }

  /** Returns words for what may be passed that is on the device. */
  private static String onDevice(dev.athanor.engine.lift.ir.Argument parameter) {
    return parameter.kind() == Kind.SEGMENT
        ? "a Buffer"
        : "a DeviceArray<%s[]> or a Buffer".formatted(parameter.element().word());
  }

  /** Returns the device arrays among the arguments. */
  List<DeviceArray<?>> deviceArrays() {
    return deviceArrays;
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
      if (copy.isWritten && copy.host.memory().byteSize() > 0) {
        stream.download(copy.buffer, 0, copy.host.memory());
        stream.synchronize();
        copy.host.update();
      }
    }
  }

  @Override
  public void close() {
    copies.forEach(copy -> copy.buffer.close());
  }
}
