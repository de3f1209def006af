package dev.athanor.engine.emulator.step;

import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.step.Addresses.Pattern;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.List;

/** A load or a store of one register per lane, or of a vector. */
public final class LoadStore implements Step {

  /** Modifiers of strong operations, on which other threads may wait (PTX ISA 8.3). */
  private static final List<String> STRONG = List.of("volatile", "relaxed", "acquire", "release");

  private final Block block;
  private final Addresses addresses;
  private final LaneAccess[] elements;
  private final int size;
  private final boolean load;
  private final boolean strong;

  /** Whether a store may outlive the block. */
  private final boolean outside;

  private final MemoryRequest touch;

  /**
   * @param elements the registers in the order of their memory locations
   * @param values the same registers
   * @param size bytes of one element
   */
  public LoadStore(
      Block block,
      Instruction instruction,
      Addresses addresses,
      LaneAccess[] elements,
      List<Lanes> values,
      int size,
      boolean load) {
    this.block = block;
    this.addresses = addresses;
    this.elements = elements;
    this.size = size;
    this.load = load;
    this.strong = isStrong(instruction);
    this.outside = !staysInside(instruction);
    this.touch =
        new MemoryRequest(instruction, load ? MemoryRequest.Kind.LOAD : MemoryRequest.Kind.STORE);
    this.touch.values = values;
  }

  /** Returns whether other threads may wait for the effect of an access. */
  public static boolean isStrong(Instruction instruction) {
    return STRONG.stream().anyMatch(instruction.modifiers()::has);
  }

  /** Returns whether the accessed memory ends with the block. */
  public static boolean staysInside(Instruction instruction) {
    var space = Addresses.space(instruction);
    return space == Space.SHARED || space == Space.SHARED_CTA || space == Space.LOCAL;
  }

  @Override
  public void execute(int first, int end, boolean whole) {
    if (strong) {
      VarHandle.fullFence();
    }
    if (!load) {
      if (outside) {
        block.stored();
      } else {
        block.progress();
      }
    }
    if (block.observer != null) {
      for (int warp = first; warp < end; warp++) {
        if (block.active[warp] != -1 || !observed(warp)) {
          some(warp, block.active[warp]);
        }
      }
    } else {
      gang(first, end);
    }
    if (strong) {
      VarHandle.fullFence();
    }
  }

  private void gang(int first, int end) {
    int warp = first;
    while (warp < end) {
      int stop = warp;
      while (stop < end && block.active[stop] == -1) {
        stop++;
      }
      if (stop == warp) {
        some(warp, block.active[warp]);
        warp++;
      } else if (all(Warps.SIZE * warp, Warps.SIZE * stop)) {
        warp = stop;
      } else {
        for (; warp < stop; warp++) {
          some(warp, -1);
        }
      }
    }
  }

  /** Executes a whole warp and notifies the observer, if its lanes can be resolved together. */
  private boolean observed(int warp) {
    int bytes = size * elements.length;
    var pattern = addresses.offsets(Warps.SIZE * warp, Warps.SIZE * (warp + 1), bytes);
    if (pattern == Pattern.UNSURE) {
      return false;
    }
    addresses.resolved(warp, bytes, touch);
    try {
      block.observe(touch);
      return move(pattern, Warps.SIZE * warp, Warps.SIZE * (warp + 1));
    } finally {
      observed();
    }
  }

  private void observed() {
    if (strong) {
      block.observed(touch);
    }
  }

  private boolean all(int lo, int hi) {
    return move(addresses.offsets(lo, hi, size * elements.length), lo, hi);
  }

  /**
   * Moves the bytes at the offsets in the block's scratch array; returns whether the pattern
   * permits it.
   */
  private boolean move(Pattern pattern, int lo, int hi) {
    switch (pattern) {
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
    boolean words = addresses.memory() == block.sharedMemory;
    for (int i = 0; i < elements.length; i++) {
      if (words && load) {
        elements[i].loadWords(block.words, segment, block.scratch, i * size, lo, hi);
      } else if (words) {
        elements[i].storeWords(block.words, segment, block.scratch, i * size, lo, hi);
      } else if (load) {
        elements[i].load(segment, block.scratch, i * size, lo, hi);
      } else {
        elements[i].store(segment, block.scratch, i * size, lo, hi);
      }
    }
  }

  private void some(int warp, int mask) {
    if (mask == 0) {
      return;
    }
    addresses.resolve(warp, mask, size * elements.length, touch);
    try {
      block.observe(touch);
      someObserved(warp, mask);
    } finally {
      observed();
    }
  }

  private void someObserved(int warp, int mask) {
    for (int left = mask; left != 0; left &= left - 1) {
      int in = Integer.numberOfTrailingZeros(left);
      var segment = touch.memory(in).segment();
      for (int i = 0; i < elements.length; i++) {
        long offset = touch.offsets[in] + (long) i * size;
        if (load) {
          elements[i].load(segment, offset, Warps.thread(warp, in));
        } else {
          elements[i].store(segment, offset, Warps.thread(warp, in));
        }
      }
    }
  }
}
