package dev.athanor.engine.emulator.step;

import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifier.Layout;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.RegisterTile;
import dev.athanor.engine.ptx.meaning.RegisterTile.Role;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Instructions that move matrices between memory and the registers of a warp. */
public final class MatrixSteps {

  private MatrixSteps() {}

  /** {@code ldmatrix} and {@code stmatrix}: rows of 16 bytes, distributed as fragments. */
  public static final class Rows implements Step.Collective {
    private static final int ROWS = 8;
    private static final int ROW_BYTES = 16;

    private final Block block;
    private final Instruction instruction;
    private final Addresses addresses;
    private final List<int[]> registers;
    private final boolean load;
    private final int[] rows = new int[64];
    private final int[] bytes = new int[64];
    private final MemoryRequest touch;

    /** The words of the rows that lanes give the addresses of, in the order of their columns. */
    private final List<int[]> stored;

    public Rows(
        Block block,
        Instruction instruction,
        Addresses addresses,
        Fragment fragment,
        List<int[]> registers,
        boolean load) {
      this.block = block;
      this.instruction = instruction;
      this.addresses = addresses;
      this.registers = registers;
      this.load = load;
      this.touch =
          new MemoryRequest(instruction, load ? MemoryRequest.Kind.LOAD : MemoryRequest.Kind.STORE);
      for (int i = 0; i < rows.length; i++) {
        var place = fragment.at(i / 2, i % 2);
        rows[i] = place.row();
        bytes[i] = 2 * place.column();
      }
      this.stored =
          Stream.generate(() -> new int[Warps.SIZE * block.active.length])
              .limit(ROW_BYTES / Integer.BYTES)
              .toList();
      if (!load) {
        touch.values = stored.stream().map(words -> new Lanes(RegisterStorage.INT, words)).toList();
      }
    }

    @Override
    public int needed(int warp, int mask) {
      return block.live[warp];
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (block.active[warp] != 0) {
          WarpSteps.checkFull(block, instruction, warp);
          move(warp);
        }
      }
    }

    private void move(int warp) {
      int count = ROWS * registers.size();
      addresses.resolve(warp, count == 32 ? -1 : (1 << count) - 1, ROW_BYTES, touch);
      checkShared(warp, count);
      if (!load && block.observer != null) {
        gather(warp);
      }
      block.observe(touch);
      var memory = block.sharedMemory.segment();
      for (int matrix = 0; matrix < registers.size(); matrix++) {
        var register = registers.get(matrix);
        for (int lane = 0; lane < Warps.SIZE; lane++) {
          long low = offset(matrix, 2 * lane);
          long high = offset(matrix, 2 * lane + 1);
          int at = Warps.thread(warp, lane);
          if (load) {
            register[at] =
                (memory.get(LaneAccess.SHORT, low) & 0xFFFF)
                    | (memory.get(LaneAccess.SHORT, high) << 16);
          } else {
            memory.set(LaneAccess.SHORT, low, (short) register[at]);
            memory.set(LaneAccess.SHORT, high, (short) (register[at] >>> 16));
          }
        }
      }
    }

    /** Requires that generic addresses lie in the block's shared memory (PTX ISA 9.7.14.5.15). */
    private void checkShared(int warp, int count) {
      for (int lane = 0; lane < count; lane++) {
        if (touch.memory(lane) != block.sharedMemory) {
          int thread = Warps.thread(warp, lane);
          throw block.fault(
              thread,
              instruction,
              "the address 0x%x is not in the shared memory of the block"
                  .formatted(addresses.of(thread)));
        }
      }
    }

    /** Gathers the rows that are about to be stored, for observers. */
    private void gather(int warp) {
      for (int matrix = 0; matrix < registers.size(); matrix++) {
        var register = registers.get(matrix);
        for (int i = 0; i < rows.length; i++) {
          int half = (register[Warps.thread(warp, i / 2)] >>> (Short.SIZE * (i % 2))) & 0xFFFF;
          int shift = Byte.SIZE * (bytes[i] % Integer.BYTES);
          var words = stored.get(bytes[i] / Integer.BYTES);
          int row = Warps.thread(warp, ROWS * matrix + rows[i]);
          words[row] = (words[row] & ~(0xFFFF << shift)) | (half << shift);
        }
      }
    }

    private long offset(int matrix, int i) {
      return touch.offsets[ROWS * matrix + rows[i]] + bytes[i];
    }
  }

  /** {@code wmma.load} and {@code wmma.store}: all lanes give the same address and stride. */
  public static final class Tile implements Step.Collective {
    private final Block block;
    private final Instruction instruction;
    private final Addresses addresses;
    private final int @Nullable [] strides;
    private final List<Lanes> registers;
    private final boolean load;
    private final RegisterTile tile;
    private final int[] indices;
    private final boolean byRows;
    private final int[][] words;
    private final MemoryRequest touch;

    /** The element that each lane stores, for observers. */
    private final long[] stored;

    public Tile(
        Block block,
        Instruction instruction,
        Addresses addresses,
        int @Nullable [] strides,
        List<Lanes> registers,
        boolean load) {
      this.block = block;
      this.instruction = instruction;
      this.addresses = addresses;
      this.strides = strides;
      this.registers = registers;
      this.load = load;
      var modifiers = instruction.modifiers();
      var role = load && modifiers.has("a") ? Role.A : load && modifiers.has("b") ? Role.B : Role.C;
      this.tile =
          RegisterTile.wmma(role, MatrixShape.of(modifiers), modifiers.type().orElse(Type.B32));
      this.indices = tile.indices();
      this.byRows = modifiers.find(Layout.class).orElse(Layout.ROW) == Layout.ROW;
      this.words = WarpSteps.words(registers);
      this.touch =
          new MemoryRequest(instruction, load ? MemoryRequest.Kind.LOAD : MemoryRequest.Kind.STORE);
      this.stored = new long[Warps.SIZE * block.active.length];
      if (!load) {
        touch.values = List.of(new Lanes(RegisterStorage.LONG, stored));
      }
    }

    @Override
    public int needed(int warp, int mask) {
      return block.live[warp];
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (block.active[warp] == 0) {
          continue;
        }
        WarpSteps.checkFull(block, instruction, warp);
        checkAgreement(warp);
        int row = 0;
        if (load) {
          move(Warps.SIZE * warp);
          for (var register : registers) {
            row = WarpSteps.write(register, warp, -1, words, row);
          }
        } else {
          for (var register : registers) {
            row = WarpSteps.read(register, warp, words, row);
          }
          block.stored();
          move(Warps.SIZE * warp);
        }
      }
    }

    private void checkAgreement(int warp) {
      int first = Warps.SIZE * warp;
      for (int lane = first + 1; lane < first + 32; lane++) {
        if (addresses.of(lane) != addresses.of(first)) {
          throw block.fault(
              lane,
              instruction,
              "the address is 0x%x, but 0x%x in lane 0; all lanes must give the same"
                  .formatted(addresses.of(lane), addresses.of(first)));
        }
        if (strides != null && strides[lane] != strides[first]) {
          throw block.fault(
              lane,
              instruction,
              "the stride is %d, but %d in lane 0; all lanes must give the same"
                  .formatted(strides[lane], strides[first]));
        }
      }
    }

    private void move(int lane) {
      int length = byRows ? tile.fragment().columns() : tile.fragment().rows();
      int lines = byRows ? tile.fragment().rows() : tile.fragment().columns();
      long stride = strides == null ? length : Integer.toUnsignedLong(strides[lane]);
      if (stride < length) {
        throw block.fault(
            lane,
            instruction,
            "the stride is %d, but a %s of the matrix has %d elements"
                .formatted(stride, byRows ? "row" : "column", length));
      }
      long bytes = ((lines - 1) * stride + length) * tile.bits() / 8;
      // The address must be a multiple of the fragment's size (PTX ISA 9.7.14.4.2).
      int alignment = tile.registers() * Math.max(4, tile.bits() / 8);
      long start = addresses.offset(lane, bytes, alignment);
      if (start < 0) {
        throw addresses.fault(lane, bytes, alignment);
      }
      if (block.observer != null) {
        show(lane >> 5, start, stride);
      }
      var memory = addresses.segment();
      for (int register = 0; register < tile.registers(); register++) {
        for (int i = 0; i < Warps.SIZE; i++) {
          move(memory, start, stride, register, i);
        }
      }
    }

    /**
     * Announces the elements that are about to be moved. Which lane moves which element is
     * unspecified (PTX ISA 9.7.14.4): the announcement names the neighboring lane, so that no
     * kernel is correct only because a lane moves what it has written itself.
     */
    private void show(int warp, long start, long stride) {
      int step = tile.bits() < 8 ? tile.elementsPerRegister() : 1;
      touch.warp = warp;
      touch.mask = -1;
      touch.bytes = tile.bits() * step / 8;
      Arrays.fill(touch.memories, addresses.memory());
      for (int register = 0; register < tile.registers(); register++) {
        for (int i = 0; i < tile.elementsPerRegister(); i += step) {
          for (int lane = 0; lane < Warps.SIZE; lane++) {
            touch.offsets[lane ^ 1] = start + index(register, lane, i, stride) * tile.bits() / 8;
            if (!load) {
              stored[Warps.thread(warp, lane ^ 1)] = bits(register, lane, i);
            }
          }
          block.observe(touch);
        }
      }
    }

    /** Returns the bits that a lane stores from a register, starting at an element. */
    private long bits(int register, int lane, int element) {
      if (tile.bits() == 64) {
        return (words[2 * register][lane] & 0xFFFF_FFFFL)
            | ((long) words[2 * register + 1][lane] << 32);
      }
      return (words[register][lane] >>> (element * tile.bits())) & ((1L << (8 * touch.bytes)) - 1);
    }

    /** Moves one register of one lane. Elements of less than a byte share a register. */
    private void move(MemorySegment memory, long start, long stride, int register, int lane) {
      if (tile.bits() == 64) {
        long at = start + 8 * index(register, lane, 0, stride);
        if (load) {
          long value = memory.get(LaneAccess.LONG, at);
          words[2 * register][lane] = (int) value;
          words[2 * register + 1][lane] = (int) (value >>> 32);
        } else {
          memory.set(LaneAccess.LONG, at, bits(register, lane, 0));
        }
        return;
      }
      int step = tile.bits() < 8 ? tile.elementsPerRegister() : 1;
      int width = tile.bits() * step;
      int word = load ? 0 : words[register][lane];
      for (int i = 0; i < tile.elementsPerRegister(); i += step) {
        long at = start + index(register, lane, i, stride) * tile.bits() / 8;
        int shift = i * tile.bits();
        if (load) {
          word |= get(memory, at, width) << shift;
        } else {
          set(memory, at, width, word >>> shift);
        }
      }
      if (load) {
        words[register][lane] = word;
      }
    }

    /** Returns the number of elements between the first element of the matrix and this one. */
    private long index(int register, int lane, int element, long stride) {
      int held = (Warps.SIZE * register + lane) * tile.elementsPerRegister() + element;
      int index = indices[held % indices.length];
      int row = index / tile.fragment().columns();
      int column = index % tile.fragment().columns();
      return byRows ? row * stride + column : column * stride + row;
    }

    private static int get(MemorySegment memory, long at, int bits) {
      return switch (bits) {
        case 8 -> memory.get(ValueLayout.JAVA_BYTE, at) & 0xFF;
        case 16 -> memory.get(LaneAccess.SHORT, at) & 0xFFFF;
        default -> memory.get(LaneAccess.INT, at);
      };
    }

    private static void set(MemorySegment memory, long at, int bits, int value) {
      switch (bits) {
        case 8 -> memory.set(ValueLayout.JAVA_BYTE, at, (byte) value);
        case 16 -> memory.set(LaneAccess.SHORT, at, (short) value);
        default -> memory.set(LaneAccess.INT, at, value);
      }
    }
  }
}
