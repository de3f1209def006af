package dev.athanor.engine.debug;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.symbol.SymbolTable;
import java.util.List;
import java.util.function.Consumer;

/** Launches on the emulator that a debugger can repeat. */
public interface Debuggee {

  /**
   * A buffer under the name that the user knows.
   *
   * @param element the type of its elements
   */
  record NamedBuffer(String name, Buffer buffer, Type element) {}

  /** Returns the instructions of all kernels; their lines can have breakpoints. */
  List<Instruction> instructions();

  /** Returns the source-level frames of the kernel; none if launches are of several kernels. */
  default SymbolTable symbols() {
    return SymbolTable.NONE;
  }

  /** Returns sentences on what the user cannot see, for a debugger to show once. */
  default List<String> warnings() {
    return List.of();
  }

  /** Returns the options of the device. */
  EmulatorOptions options();

  /**
   * Makes the launches, one after the other, on a new device. Each call does the same.
   *
   * @param options the options of the device
   * @param buffers receives the buffers before the first launch
   * @throws RuntimeException of the device if a launch fails
   */
  void run(EmulatorOptions options, Consumer<NamedBuffer> buffers);
}
