package dev.athanor.engine.cuda;

import dev.athanor.engine.cuda.driver.CudaDriver;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.stream.IntStream;

/** Controls the driver of src/test/c/fakecuda.c and reads what it recorded. */
@SuppressWarnings("restricted") // the signatures are those of the C file
final class FakeDriver {

  private static final long LAUNCH_BYTES = 64 + 7 * 4 + 4 + 64 * 8 + 5 * 4 + 4;

  private static final SymbolLookup LIBRARY =
      SymbolLookup.libraryLookup(CudaDriver.LIBRARY, Arena.global());

  private FakeDriver() {}

  /** The last launch as the driver received it; each value has the width of its parameter. */
  record Launched(
      String name,
      List<Integer> grid,
      List<Integer> block,
      int shared,
      List<Long> values,
      List<Integer> cluster,
      boolean cooperative,
      boolean dependent) {}

  /** The arguments of the last tensor map: the 64-bit numbers, then the 32-bit numbers. */
  record Mapped(List<Long> wide, List<Integer> narrow) {}

  /** Makes the next call of a driver function return a code. */
  static void fail(String function, int code) {
    try (var arena = Arena.ofConfined()) {
      call(
          "fake_fail",
          FunctionDescriptor.ofVoid(ValueLayout.ADDRESS, ValueLayout.JAVA_INT),
          arena.allocateFrom(function),
          code);
    }
  }

  /** Reports work as pending until it is waited for. */
  static void hold() {
    call("fake_hold", FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT), 1);
  }

  /** Returns the number of calls of a driver function. */
  static int calls(String function) {
    try (var arena = Arena.ofConfined()) {
      return (int)
          call(
              "fake_calls",
              FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS),
              arena.allocateFrom(function));
    }
  }

  static Launched lastLaunch() {
    var at = (MemorySegment) call("fake_launch", FunctionDescriptor.of(ValueLayout.ADDRESS));
    var launch = at.reinterpret(LAUNCH_BYTES);
    var numbers = launch.asSlice(64).toArray(ValueLayout.JAVA_INT);
    int count = numbers[7];
    return new Launched(
        launch.getString(0),
        List.of(numbers[0], numbers[1], numbers[2]),
        List.of(numbers[3], numbers[4], numbers[5]),
        numbers[6],
        IntStream.range(0, count)
            .mapToObj(i -> launch.get(ValueLayout.JAVA_LONG, 96 + 8L * i))
            .toList(),
        IntStream.range(0, 3)
            .mapToObj(i -> launch.get(ValueLayout.JAVA_INT, 96 + 64 * 8 + 4L * i))
            .toList(),
        launch.get(ValueLayout.JAVA_INT, 96 + 64 * 8 + 12) != 0,
        launch.get(ValueLayout.JAVA_INT, 96 + 64 * 8 + 16) != 0);
  }

  static Mapped lastMap() {
    var at = (MemorySegment) call("fake_map", FunctionDescriptor.of(ValueLayout.ADDRESS));
    var map = at.reinterpret(10 * 8 + 16 * 4);
    return new Mapped(
        map.asSlice(0, 80)
            .elements(ValueLayout.JAVA_LONG)
            .map(e -> e.get(ValueLayout.JAVA_LONG, 0))
            .toList(),
        map.asSlice(80)
            .elements(ValueLayout.JAVA_INT)
            .map(e -> e.get(ValueLayout.JAVA_INT, 0))
            .toList());
  }

  private static Object call(String name, FunctionDescriptor signature, Object... arguments) {
    try {
      return Linker.nativeLinker()
          .downcallHandle(LIBRARY.findOrThrow(name), signature)
          .invokeWithArguments(arguments);
    } catch (Throwable e) {
      throw new LinkageError(name, e);
    }
  }
}
