package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.watch.ByteRanges;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;

/**
 * A factor that a product reads from the shared memory of a block.
 *
 * @param thread the issuing thread, for faults
 * @param outer extent of the dimension other than k
 * @param depth extent of k
 */
record SharedFactor(
    Block block, Instruction instruction, int thread, SharedMatrix matrix, int outer, int depth) {

  /** Returns the bits of an element; those above its width are undefined. */
  int element(int i, int k) {
    int size = matrix.size();
    long address = matrix.address(i, k);
    if (address + size > block.shared.byteSize()) {
      throw block.fault(
          thread,
          instruction,
          "reads bytes %d..%d of %d bytes of shared memory"
              .formatted(address, address + size - 1, block.shared.byteSize()));
    }
    return switch (size) {
      case 1 -> block.shared.get(ValueLayout.JAVA_BYTE, address);
      case 2 -> block.shared.get(LaneAccess.SHORT, address);
      default -> block.shared.get(LaneAccess.INT, address);
    };
  }

  /** Adds the 16-byte chunks of shared memory that the factor occupies, as far as they exist. */
  void addTo(BitSet chunks) {
    for (int i = 0; i < outer; i++) {
      for (int k = 0; k < depth; k++) {
        long address = matrix.address(i, k);
        if (address < block.shared.byteSize()) {
          chunks.set((int) (address / TransferEndpoint.CHUNK));
        }
      }
    }
  }

  /** Returns the bytes of chunks of the shared memory of a block. */
  static ByteRanges ranges(Block block, BitSet chunks) {
    return visitor -> {
      for (int at = chunks.nextSetBit(0); at >= 0; ) {
        int end = chunks.nextClearBit(at);
        long offset = (long) TransferEndpoint.CHUNK * at;
        visitor.visit(
            block.sharedMemory, offset, (long) TransferEndpoint.CHUNK * (end - at), offset);
        at = chunks.nextSetBit(end);
      }
    };
  }
}
