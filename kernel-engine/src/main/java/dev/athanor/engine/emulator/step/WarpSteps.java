package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.WarpFunction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.Shuffle;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Instructions that a warp executes as one. */
public final class WarpSteps {

  private WarpSteps() {}

  /** Returns the rows of 32-bit words of a register: one, or two for 64 bits, low word first. */
  private static int rows(Lanes register) {
    return switch (register.storage()) {
      case MASK, INT, FLOAT -> 1;
      case LONG, DOUBLE -> 2;
    };
  }

  static int[][] words(List<Lanes> registers) {
    return new int[registers.stream().mapToInt(WarpSteps::rows).sum()][Warps.SIZE];
  }

  /** Requires all 32 lanes of a warp to be live. */
  public static void checkFull(Block block, Instruction instruction, int warp) {
    int missing = Integer.bitCount(~block.active[warp]);
    if (missing != 0) {
      throw block.fault(
          Kind.PARTIAL_WARP,
          Warps.firstThread(warp, block.active[warp]),
          instruction,
          "needs all 32 threads of its warp, but %d have exited or never were".formatted(missing));
    }
  }

  /** An instruction with a {@link WarpFunction}. */
  public static final class Call implements Step.Collective {
    private final Block block;
    private final Instruction instruction;
    private final WarpFunction function;
    private final List<Lanes> results;
    private final List<Lanes> sources;
    private final int @Nullable [] members;
    private final int[][] resultWords;
    private final int[][] sourceWords;

    /**
     * @param members the member mask operand; null = all lanes
     */
    public Call(
        Block block,
        Instruction instruction,
        WarpFunction function,
        List<Lanes> results,
        List<Lanes> sources,
        int @Nullable [] members) {
      this.block = block;
      this.instruction = instruction;
      this.function = function;
      this.results = results;
      this.sources = sources;
      this.members = members;
      this.resultWords = words(results);
      this.sourceWords = words(sources);
    }

    @Override
    public boolean names() {
      return members != null;
    }

    @Override
    public int needed(int warp, int mask) {
      if (members == null) {
        return block.live[warp];
      }
      int needed = 0;
      for (int left = mask; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        int named = members[Warps.thread(warp, lane)];
        if (((named >>> lane) & 1) == 0) {
          throw block.fault(
              Kind.MEMBER_MASK,
              Warps.thread(warp, lane),
              instruction,
              "the thread is lane %d, which its member mask 0x%08x leaves out"
                  .formatted(lane, named));
        }
        needed |= named;
      }
      return needed & block.live[warp];
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        int mask = block.active[warp];
        if (mask == 0) {
          continue;
        }
        if (members == null && instruction.form().semantics() instanceof Semantics.Warp) {
          checkFull(block, instruction, warp);
        }
        if (block.observer != null) {
          observe(block.observer, warp, mask);
        }
        int row = 0;
        for (var source : sources) {
          row = read(source, warp, sourceWords, row);
        }
        apply(warp, mask);
        row = 0;
        for (var result : results) {
          row = write(result, warp, mask, resultWords, row);
        }
      }
    }

    private void apply(int warp, int mask) {
      try {
        function.apply(
            new WarpFunction.Call(instruction.modifiers(), block.target, mask),
            sourceWords,
            resultWords);
      } catch (IllegalArgumentException e) {
        throw block.fault(
            Warps.firstThread(warp, mask), instruction, String.valueOf(e.getMessage()));
      }
    }

    /** Notifies the observer of synchronizing lanes, and reports member masks that disagree. */
    private void observe(Observer observer, int warp, int mask) {
      if (members == null) {
        return;
      }
      boolean barrier = instruction.form().semantics() instanceof Semantics.WarpBarrier;
      int left = mask;
      while (left != 0) {
        int lane = Integer.numberOfTrailingZeros(left);
        int named = members[Warps.thread(warp, lane)];
        int together = named & mask;
        for (int others = together; others != 0; others &= others - 1) {
          int other = Integer.numberOfTrailingZeros(others);
          if (members[Warps.thread(warp, other)] != named) {
            observer.reportViolation(
                Kind.MEMBER_MASK,
                Warps.thread(warp, lane),
                instruction,
                "names lane %d with member mask 0x%08x, but that lane's own is 0x%08x"
                    .formatted(other, named, members[Warps.thread(warp, other)]),
                "give all lanes that execute it together the same mask");
            together &= ~(1 << other);
          }
        }
        if (barrier) {
          observer.synchronize(warp, together);
        } else if (instruction.form().semantics() instanceof Semantics.Warp w
            && w.kind() == Semantics.WarpKind.SHUFFLE) {
          checkSources(observer, warp, together);
        }
        left &= ~(together | (1 << lane));
      }
    }

    /** Reports lanes that read from a lane that does not take part. */
    private void checkSources(Observer observer, int warp, int together) {
      var shuffle = Shuffle.of(instruction.modifiers());
      for (int left = together; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        int thread = Warps.thread(warp, lane);
        int other =
            shuffle.source(
                lane, (int) sources.get(1).bits(thread), (int) sources.get(2).bits(thread));
        if (other != Shuffle.NONE && ((together >>> other) & 1) == 0) {
          observer.reportViolation(
              Kind.INACTIVE_LANE,
              thread,
              instruction,
              "asks for the value of lane %d, which takes no part in it".formatted(other),
              "name that lane in the member mask and let it come, or ask for another");
        }
      }
    }
  }

  /** Copies the lanes of a register of a warp to rows of words; returns the next row. */
  static int read(Lanes register, int warp, int[][] words, int row) {
    int from = Warps.SIZE * warp;
    switch (register.storage()) {
      case MASK -> {
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          words[row][lane] = (register.ints()[warp] >>> lane) & 1;
        }
      }
      case INT -> System.arraycopy(register.ints(), from, words[row], 0, Warps.SIZE);
      case FLOAT -> {
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          words[row][lane] = Float.floatToRawIntBits(register.floats()[from + lane]);
        }
      }
      case LONG -> {
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          split(register.longs()[from + lane], words, row, lane);
        }
      }
      case DOUBLE -> {
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          split(Double.doubleToRawLongBits(register.doubles()[from + lane]), words, row, lane);
        }
      }
    }
    return row + rows(register);
  }

  /** Copies rows of words to the lanes of a mask; returns the next row. */
  static int write(Lanes register, int warp, int mask, int[][] words, int row) {
    if (mask == -1) {
      writeAll(register, warp, words, row);
    } else {
      writeSome(register, warp, mask, words, row);
    }
    return row + rows(register);
  }

  private static void writeAll(Lanes register, int warp, int[][] words, int row) {
    var low = words[row];
    int from = Warps.SIZE * warp;
    switch (register.storage()) {
      case MASK -> writeSome(register, warp, -1, words, row);
      case INT -> System.arraycopy(low, 0, register.ints(), from, Warps.SIZE);
      case FLOAT -> {
        var to = register.floats();
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          to[from + lane] = Float.intBitsToFloat(low[lane]);
        }
      }
      case LONG -> {
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          register.longs()[from + lane] = join(low[lane], words[row + 1][lane]);
        }
      }
      case DOUBLE -> {
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          register.doubles()[from + lane] =
              Double.longBitsToDouble(join(low[lane], words[row + 1][lane]));
        }
      }
    }
  }

  private static void writeSome(Lanes register, int warp, int mask, int[][] words, int row) {
    if (register.storage() == RegisterStorage.MASK) {
      register.ints()[warp] &= ~mask;
    }
    for (int left = mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int at = Warps.thread(warp, lane);
      int word = words[row][lane];
      switch (register.storage()) {
        case MASK -> register.ints()[warp] |= word << lane;
        case INT -> register.ints()[at] = word;
        case FLOAT -> register.floats()[at] = Float.intBitsToFloat(word);
        case LONG -> register.longs()[at] = join(word, words[row + 1][lane]);
        case DOUBLE ->
            register.doubles()[at] = Double.longBitsToDouble(join(word, words[row + 1][lane]));
      }
    }
  }

  private static void split(long bits, int[][] words, int row, int lane) {
    words[row][lane] = (int) bits;
    words[row + 1][lane] = (int) (bits >>> 32);
  }

  private static long join(int low, int high) {
    return (low & 0xFFFF_FFFFL) | ((long) high << 32);
  }
}
