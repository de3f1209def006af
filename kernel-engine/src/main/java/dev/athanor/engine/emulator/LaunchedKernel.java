package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Dim3;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * One run of a program.
 *
 * @param sharedBytes of a block
 * @param parameters the values, {@link #PARAMETER_BYTES} each
 * @param memory the buffers that it may touch
 */
record LaunchedKernel(
    Program program,
    Dim3 grid,
    Dim3 block,
    int sharedBytes,
    MemorySegment parameters,
    GlobalMemory.Snapshot memory,
    EmulatorOptions options) {

  static final int PARAMETER_BYTES = 8;

  /** The parameter memory that holds these values. */
  static MemorySegment parameters(List<Long> values) {
    var segment = Arena.ofAuto().allocate((long) PARAMETER_BYTES * Math.max(1, values.size()), 8);
    for (int i = 0; i < values.size(); i++) {
      segment.set(Cells.LONG, (long) PARAMETER_BYTES * i, values.get(i));
    }
    return segment;
  }

  /** A launch that is never run. */
  static LaunchedKernel trial(Program program) {
    return new LaunchedKernel(
        program,
        Dim3.of(1),
        Dim3.of(32),
        0,
        parameters(List.of()),
        new GlobalMemory.Snapshot(List.of(), List.of()),
        EmulatorOptions.DEFAULT);
  }
}
