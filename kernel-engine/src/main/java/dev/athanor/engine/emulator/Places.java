package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report.Index;
import dev.athanor.engine.device.Report.Place;
import dev.athanor.engine.ptx.Statement.Instruction;

/** The names of blocks and threads by their numbers. */
record Places(String kernel, Dim3 grid, Dim3 block) {

  private static Index index(long number, Dim3 in) {
    return new Index(
        (int) (number % in.x()),
        (int) (number / in.x() % in.y()),
        (int) (number / in.x() / in.y()));
  }

  /**
   * A thread at an instruction.
   *
   * @param number of the block in the grid
   * @param thread its number in the block
   */
  Place of(long number, int thread, Instruction instruction) {
    var text = instruction.toString();
    return new Place(
        kernel,
        text.substring(0, text.length() - 1),
        instruction.source(),
        index(number, grid),
        index(thread, block),
        thread >> 5,
        thread & 31);
  }
}
