package dev.athanor.engine.lift.marshal;

import static java.lang.invoke.MethodType.methodType;

import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.RecordLayout;
import dev.athanor.engine.lift.ir.RecordLayout.Component;
import dev.athanor.engine.lift.refusal.OpenPackages;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle.AccessMode;
import java.lang.reflect.InaccessibleObjectException;
import org.jspecify.annotations.Nullable;

/** Copies the records of a class to memory of the host and back, in their {@link RecordLayout}. */
public final class HostRecords {
  private static final ClassValue<HostRecords> BY_CLASS =
      new ClassValue<>() {
        @Override
        protected HostRecords computeValue(Class<?> type) {
          return new HostRecords(RecordLayout.of(type).orElseThrow());
        }
      };

  private static final MethodHandle SUM;
  private static final MethodHandle ORDINAL;
  private static final MethodHandle REQUIRE;
  private static final MethodHandle CONSTANT;

  static {
    var lookup = MethodHandles.lookup();
    try {
      SUM = lookup.findStatic(Long.class, "sum", methodType(long.class, long.class, long.class));
      ORDINAL = lookup.findVirtual(Enum.class, "ordinal", methodType(int.class));
      REQUIRE =
          lookup.findStatic(
              HostRecords.class, "require", methodType(Object.class, String.class, Object.class));
      CONSTANT =
          lookup.findStatic(
              HostRecords.class, "constant", methodType(Object.class, Class.class, int.class));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final RecordLayout layout;

  /** Writes a record to an offset: {@code (MemorySegment, long, Object)void}. */
  private final MethodHandle writer;

  /** Creates a record from an offset: {@code (MemorySegment, long)Object}. */
  private final MethodHandle reader;

  private HostRecords(RecordLayout layout) {
    this.layout = layout;
    try {
      writer = writer(layout).asType(writerType(Object.class));
      reader = reader(layout).asType(methodType(Object.class, MemorySegment.class, long.class));
    } catch (ReflectiveOperationException | InaccessibleObjectException e) {
      throw new IllegalArgumentException(
          "cannot copy records of %s: its package is not open; %s"
              .formatted(layout.word(), OpenPackages.request(layout.type())),
          e);
    }
  }

  /**
   * Returns the copies of the records of a class that has a layout.
   *
   * @throws IllegalArgumentException if this module may not read its components
   */
  public static HostRecords of(Class<?> type) {
    return BY_CLASS.get(type);
  }

  /** Allocates zeros for a number of records. */
  MemorySegment allocate(int records) {
    long bytes = (long) records * layout.bytes();
    int longs = Math.toIntExact(Math.ceilDiv(bytes, (long) Long.BYTES));
    return MemorySegment.ofArray(new long[longs]).asSlice(0, bytes); // aligned for all numbers
  }

  /**
   * Returns the memory of records.
   *
   * @throws IllegalArgumentException if one is null
   */
  MemorySegment copy(@Nullable Object[] records) {
    var memory = allocate(records.length);
    for (int i = 0; i < records.length; i++) {
      var record = records[i];
      if (record == null) {
        throw new IllegalArgumentException(
            "element %d of %s[%d] is null; a kernel needs a record in each element"
                .formatted(i, layout.word(), records.length));
      }
      write(record, memory, (long) i * layout.bytes());
    }
    return memory;
  }

  /** Replaces the records that differ from those in memory. */
  void update(@Nullable Object[] records, MemorySegment memory) {
    var known = allocate(1);
    for (int i = 0; i < records.length; i++) {
      long at = (long) i * layout.bytes();
      var record = records[i];
      if (record != null) {
        write(record, known, 0);
      }
      if (record == null
          || MemorySegment.mismatch(known, 0, layout.bytes(), memory, at, at + layout.bytes())
              >= 0) {
        records[i] = read(memory, at);
      }
    }
  }

  private Object read(MemorySegment from, long at) {
    try {
      return (Object) reader.invokeExact(from, at);
    } catch (Throwable e) {
      throw failure(e, "the constructor of %s fails".formatted(layout.word()));
    }
  }

  private void write(Object record, MemorySegment to, long at) {
    try {
      writer.invokeExact(to, at, record);
    } catch (Throwable e) {
      throw failure(e, "an accessor of %s fails".formatted(layout.word()));
    }
  }

  /** Throws what is unchecked; returns an exception for the rest. */
  private static IllegalStateException failure(Throwable thrown, String sentence) {
    return switch (thrown) {
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      default -> new IllegalStateException(sentence, thrown);
    };
  }

  private static MethodType writerType(Class<?> value) {
    return methodType(void.class, MemorySegment.class, long.class, value);
  }

  private static MethodHandle writer(RecordLayout layout) throws ReflectiveOperationException {
    var all = MethodHandles.empty(writerType(layout.type()));
    for (var each : layout.components()) {
      var write =
          switch (each.element()) {
            case Element number -> memoryOf(number).varHandle().toMethodHandle(AccessMode.SET);
            case RecordLayout inner -> writer(inner);
          };
      var ofRecord = MethodHandles.filterArguments(write, 2, accessor(layout, each));
      all = MethodHandles.foldArguments(at(each.offset(), ofRecord), all);
    }
    return all;
  }

  /** Lets a method whose second parameter is an offset add a number to it. */
  private static MethodHandle at(long offset, MethodHandle method) {
    return MethodHandles.filterArguments(method, 1, MethodHandles.insertArguments(SUM, 0, offset));
  }

  /**
   * Returns the method that reads a component: its number or record, and the ordinal of an enum.
   */
  private static MethodHandle accessor(RecordLayout layout, Component component)
      throws ReflectiveOperationException {
    var type = component.type();
    var method = layout.type().getDeclaredMethod(component.name());
    method.setAccessible(true);
    var accessor = MethodHandles.lookup().unreflect(method);
    if (type.isPrimitive()) {
      return accessor;
    }
    var path = layout.word() + "." + component.name();
    var present = MethodHandles.insertArguments(REQUIRE, 0, path).asType(methodType(type, type));
    var required = MethodHandles.filterReturnValue(accessor, present);
    return type.isEnum()
        ? MethodHandles.filterReturnValue(required, ORDINAL.asType(methodType(int.class, type)))
        : required;
  }

  private static MethodHandle reader(RecordLayout layout) throws ReflectiveOperationException {
    var components = layout.components();
    var constructor =
        layout
            .type()
            .getDeclaredConstructor(
                components.stream().map(Component::type).toArray(Class<?>[]::new));
    constructor.setAccessible(true);
    var read =
        MethodHandles.dropArguments(
            MethodHandles.lookup().unreflectConstructor(constructor),
            components.size(),
            MemorySegment.class,
            long.class);
    for (int i = components.size() - 1; i >= 0; i--) {
      var each = components.get(i);
      read = MethodHandles.foldArguments(read, i, at(each.offset(), component(each)));
    }
    return read;
  }

  /** Returns the method that reads a component from its offset. */
  private static MethodHandle component(Component component) throws ReflectiveOperationException {
    var type = component.type();
    var read =
        switch (component.element()) {
          case Element number -> memoryOf(number).varHandle().toMethodHandle(AccessMode.GET);
          case RecordLayout inner -> reader(inner);
        };
    return type.isEnum()
        ? MethodHandles.filterReturnValue(
            read,
            MethodHandles.insertArguments(CONSTANT, 0, type).asType(methodType(type, int.class)))
        : read;
  }

  @SuppressWarnings("UnusedMethod") // a method handle calls it
  private static Object constant(Class<?> type, int ordinal) {
    var all = type.getEnumConstants();
    if (ordinal < 0 || ordinal >= all.length) {
      throw new IllegalStateException(
          "%s has no constant with the ordinal %d".formatted(type.getSimpleName(), ordinal));
    }
    return all[ordinal];
  }

  @SuppressWarnings("UnusedMethod") // a method handle calls it
  private static Object require(String path, @Nullable Object component) {
    if (component == null) {
      throw new IllegalArgumentException(path + " is null; a kernel needs a value");
    }
    return component;
  }

  private static ValueLayout memoryOf(Element number) {
    return switch (number) {
      case BOOLEAN -> ValueLayout.JAVA_BOOLEAN;
      case BYTE -> ValueLayout.JAVA_BYTE;
      case SHORT -> ValueLayout.JAVA_SHORT;
      case CHAR -> ValueLayout.JAVA_CHAR;
      case INT -> ValueLayout.JAVA_INT;
      case LONG -> ValueLayout.JAVA_LONG;
      case FLOAT -> ValueLayout.JAVA_FLOAT;
      case DOUBLE -> ValueLayout.JAVA_DOUBLE;
    };
  }
}
