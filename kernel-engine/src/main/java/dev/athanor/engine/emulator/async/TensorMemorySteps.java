package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.emulator.step.WarpSteps;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.util.List;

/** Instructions with which warps allocate, load and store {@link TensorMemory}. */
final class TensorMemorySteps {

  private TensorMemorySteps() {}

  /** A register that holds an address in tensor memory, and an offset in columns. */
  record TensorAddress(Lanes register, int offset) {
    int of(int thread) {
      return (int) register.bits(thread) + offset;
    }
  }

  /** An instruction that all threads of a warp execute with the same operands. */
  abstract static class OfWarp implements Step.Collective {
    final AsyncState async;
    final Block block;
    final Instruction instruction;
    final TensorMemory memory;

    OfWarp(AsyncState async, Instruction instruction) {
      this.async = async;
      this.block = async.block;
      this.instruction = instruction;
      this.memory = async.tensorMemory();
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
          try {
            execute(warp);
          } catch (IllegalArgumentException e) {
            throw fault(warp, String.valueOf(e.getMessage()));
          }
        }
      }
    }

    /**
     * Executes the instruction for a warp.
     *
     * @throws IllegalArgumentException if a rule is violated
     */
    abstract void execute(int warp);

    Fault fault(int warp, String what) {
      return block.fault(Warps.SIZE * warp, instruction, what);
    }

    int uniform(Lanes register, int warp, String what) {
      long value = register.bits(Warps.SIZE * warp);
      for (int lane = 1; lane < Warps.SIZE; lane++) {
        long other = register.bits(Warps.thread(warp, lane));
        if (other != value) {
          throw new IllegalArgumentException(
              "%s is 0x%x in lane %d, but 0x%x in lane 0; all threads must give the same"
                  .formatted(what, other, lane, value));
        }
      }
      return (int) value;
    }
  }

  /** {@code tcgen05.alloc}. */
  static final class Allocate extends OfWarp {
    private final Addresses addresses;
    private final Lanes columns;
    private final MemoryRequest touch;

    Allocate(AsyncState async, Instruction instruction, Addresses addresses, Lanes columns) {
      super(async, instruction);
      this.addresses = addresses;
      this.columns = columns;
      this.touch = new MemoryRequest(instruction, MemoryRequest.Kind.STORE);
    }

    @Override
    void execute(int warp) {
      int count = uniform(columns, warp, "the number of columns");
      addresses.resolve(warp, 1, Integer.BYTES, touch);
      if (touch.memory(0) != block.sharedMemory) {
        throw new IllegalArgumentException(
            "stores the address of tensor memory outside of the shared memory of the block");
      }
      int address = memory.allocate(count, instruction, Warps.SIZE * warp);
      block.observe(touch);
      block.shared.set(LaneAccess.INT, touch.offsets[0], address);
      block.progress();
    }
  }

  /** {@code tcgen05.dealloc}. */
  static final class Deallocate extends OfWarp {
    private final Lanes address;
    private final Lanes columns;

    Deallocate(AsyncState async, Instruction instruction, Lanes address, Lanes columns) {
      super(async, instruction);
      this.address = address;
      this.columns = columns;
    }

    @Override
    void execute(int warp) {
      memory.deallocate(
          uniform(address, warp, "the address"), uniform(columns, warp, "the number of columns"));
    }
  }

  /** {@code tcgen05.relinquish_alloc_permit}. */
  static final class Relinquish extends OfWarp {
    Relinquish(AsyncState async, Instruction instruction) {
      super(async, instruction);
    }

    @Override
    void execute(int warp) {
      memory.relinquish();
    }
  }

  /** {@code tcgen05.wait}. */
  static final class Wait extends OfWarp {
    private final boolean load;

    Wait(AsyncState async, Instruction instruction, boolean load) {
      super(async, instruction);
      this.load = load;
    }

    @Override
    void execute(int warp) {
      memory.await(warp, load);
      block.observeSynchronization(warp, -1);
    }
  }

  /** {@code tcgen05.ld} and {@code tcgen05.st}. */
  static final class Move extends OfWarp {
    private final TensorAddress address;
    private final List<Lanes> registers;
    private final Fragment fragment;
    private final boolean load;

    /** Number of columns per register, of which two hold 16 bits each. */
    private final int width;

    private final MemoryRequest touch;

    Move(
        AsyncState async,
        Instruction instruction,
        TensorAddress address,
        List<Lanes> registers,
        Fragment fragment,
        boolean load,
        boolean packs) {
      super(async, instruction);
      this.address = address;
      this.registers = registers;
      this.fragment = fragment;
      this.load = load;
      this.width = packs ? 2 : 1;
      this.touch =
          new MemoryRequest(instruction, load ? MemoryRequest.Kind.LOAD : MemoryRequest.Kind.STORE);
    }

    @Override
    void execute(int warp) {
      int start = uniform(address.register, warp, "the address") + address.offset;
      int lane = TensorMemory.lane(start);
      int first = warp % WarpGroup.WARPS * TensorMemory.LANES_OF_WARP;
      if (lane < first || lane + fragment.rows() > first + TensorMemory.LANES_OF_WARP) {
        throw new IllegalArgumentException(
            "accesses lanes %d..%d of tensor memory; warp %d can access lanes %d..%d"
                .formatted(
                    lane,
                    lane + fragment.rows() - 1,
                    warp,
                    first,
                    first + TensorMemory.LANES_OF_WARP - 1));
      }
      int column = TensorMemory.column(start);
      var problem = memory.problem(column, fragment.columns() * width);
      if (problem != null) {
        throw new IllegalArgumentException(problem);
      }
      observe(warp, lane, column);
      memory.move(load ? new Load(warp, lane, column) : new Store(warp, lane, column), warp, load);
    }

    /** Announces one word per thread and register after the other. */
    private void observe(int warp, int lane, int column) {
      touch.warp = warp;
      touch.bytes = Integer.BYTES * width;
      for (int i = 0; i < registers.size(); i++) {
        touch.mask = -1;
        for (int thread = 0; thread < Warps.SIZE; thread++) {
          var at = fragment.at(thread, i);
          touch.memories[thread] = memory.memory;
          touch.offsets[thread] =
              TensorMemory.offset(lane + at.row(), column + at.column() * width);
        }
        block.observe(touch);
      }
    }

    /** A load, whose registers are poisoned until it completes. */
    private final class Load extends PendingOperation {
      private final int warp;
      private final int lane;
      private final int column;

      Load(int warp, int lane, int column) {
        this.warp = warp;
        this.lane = lane;
        this.column = column;
      }

      @Override
      void delay() {
        for (var register : registers) {
          for (int i = 0; i < Warps.SIZE; i++) {
            register.set(Warps.thread(warp, i), Registers.POISON);
          }
        }
      }

      @Override
      void perform() {
        for (int i = 0; i < registers.size(); i++) {
          for (int thread = 0; thread < Warps.SIZE; thread++) {
            var at = fragment.at(thread, i);
            int from = column + at.column() * width;
            int word = memory.get(lane + at.row(), from);
            if (width == 2) {
              word = (word & 0xFFFF) | (memory.get(lane + at.row(), from + 1) << 16);
            }
            registers.get(i).set(Warps.thread(warp, thread), word);
          }
        }
        block.progress();
      }
    }

    /** A store of the values that the registers had when it was issued. */
    private final class Store extends PendingOperation {
      private final int lane;
      private final int column;
      private final int[][] words = new int[registers.size()][Warps.SIZE];

      Store(int warp, int lane, int column) {
        this.lane = lane;
        this.column = column;
        for (int i = 0; i < words.length; i++) {
          for (int thread = 0; thread < Warps.SIZE; thread++) {
            words[i][thread] = (int) registers.get(i).bits(Warps.thread(warp, thread));
          }
        }
      }

      @Override
      void perform() {
        for (int i = 0; i < words.length; i++) {
          for (int thread = 0; thread < Warps.SIZE; thread++) {
            var at = fragment.at(thread, i);
            int to = column + at.column() * width;
            int word = words[i][thread];
            memory.set(lane + at.row(), to, width == 2 ? word & 0xFFFF : word);
            if (width == 2) {
              memory.set(lane + at.row(), to + 1, word >>> 16);
            }
          }
        }
        block.progress();
      }
    }
  }
}
