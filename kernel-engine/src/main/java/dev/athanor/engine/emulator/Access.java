package dev.athanor.engine.emulator;

import java.lang.foreign.MemorySegment;

/** A load or a store, of one register a lane or of a vector. */
final class Access implements Step {

  private final Block block;
  private final Addresses addresses;
  private final Cells[] elements;
  private final int size;
  private final boolean load;

  /**
   * @param elements the registers, in the order of their places in memory
   * @param size the bytes of one
   */
  Access(Block block, Addresses addresses, Cells[] elements, int size, boolean load) {
    this.block = block;
    this.addresses = addresses;
    this.elements = elements;
    this.size = size;
    this.load = load;
  }

  @Override
  public void execute(int first, int end, boolean whole) {
    int warp = first;
    while (warp < end) {
      int stop = warp;
      while (stop < end && block.active[stop] == -1) {
        stop++;
      }
      if (stop == warp) {
        some(warp, block.active[warp]);
        warp++;
      } else if (all(32 * warp, 32 * stop)) {
        warp = stop;
      } else {
        for (; warp < stop; warp++) {
          some(warp, -1);
        }
      }
    }
  }

  private boolean all(int lo, int hi) {
    switch (addresses.offsets(lo, hi, size * elements.length)) {
      case UNSURE -> {
        return false;
      }
      case CONSECUTIVE -> {
        if (elements.length == 1) {
          run(addresses.segment(), lo, hi);
        } else {
          scattered(addresses.segment(), lo, hi);
        }
      }
      case SCATTERED -> scattered(addresses.segment(), lo, hi);
    }
    return true;
  }

  private void run(MemorySegment segment, int lo, int hi) {
    if (load) {
      elements[0].loadRun(segment, block.scratch[lo], size, lo, hi);
    } else {
      elements[0].storeRun(segment, block.scratch[lo], size, lo, hi);
    }
  }

  private void scattered(MemorySegment segment, int lo, int hi) {
    for (int i = 0; i < elements.length; i++) {
      if (load) {
        elements[i].load(segment, block.scratch, i * size, lo, hi);
      } else {
        elements[i].store(segment, block.scratch, i * size, lo, hi);
      }
    }
  }

  private void some(int warp, int mask) {
    int bytes = size * elements.length;
    addresses.check(warp, mask, bytes);
    for (int left = mask; left != 0; left &= left - 1) {
      int lane = 32 * warp + Integer.numberOfTrailingZeros(left);
      long offset = addresses.offset(lane, bytes, bytes);
      for (int i = 0; i < elements.length; i++) {
        if (load) {
          elements[i].load(addresses.segment(), offset + (long) i * size, lane);
        } else {
          elements[i].store(addresses.segment(), offset + (long) i * size, lane);
        }
      }
    }
  }
}
