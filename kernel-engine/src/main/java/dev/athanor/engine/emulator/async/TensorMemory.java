package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.watch.ByteRanges;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tensor memory of a block: 128 lanes of 512 columns of 32-bit words, which warps allocate by
 * columns (PTX ISA 9.7.16.1), and the pending operations on it. Products execute in order.
 */
final class TensorMemory {

  static final int LANES = 128;

  /** The lanes that a warp can access: those of its rank in its warpgroup. */
  static final int LANES_OF_WARP = 32;

  private static final int COLUMNS = 512;
  private static final int COLUMN_MASK = 0xFFFF;
  private static final int LANE_SHIFT = 16;

  /** Columns that a warp has allocated. */
  private record Allocation(int first, int columns, Instruction instruction, int thread) {
    int end() {
      return first + columns;
    }
  }

  /** A product, and how many the block issued before. */
  private record Product(long number, PendingOperation operation) {}

  final Memory memory;
  private final MemorySegment words;
  private final PendingOperations operations;
  private final Deque<Product> products = new ArrayDeque<>();
  private final List<Deque<PendingOperation>> loads = new ArrayList<>();
  private final List<Deque<PendingOperation>> stores = new ArrayList<>();
  private final List<Allocation> allocations = new ArrayList<>();
  private boolean relinquished;
  private long issued;

  TensorMemory(Block block, PendingOperations operations) {
    this.operations = operations;
    this.words = MemorySegment.ofArray(new int[LANES * COLUMNS]);
    this.memory = Memory.Small.ofTensors(words);
    for (int warp = 0; warp < block.live.length; warp++) {
      loads.add(new ArrayDeque<>());
      stores.add(new ArrayDeque<>());
    }
    var observer = block.cluster.observer();
    if (observer != null) {
      observer.ownsShared(block.rank, memory);
    }
  }

  /** Discards the state of the previous block. */
  void clear() {
    products.clear();
    loads.forEach(Deque::clear);
    stores.forEach(Deque::clear);
    allocations.clear();
    relinquished = false;
    issued = 0;
  }

  static int lane(int address) {
    return address >>> LANE_SHIFT;
  }

  static int column(int address) {
    return address & COLUMN_MASK;
  }

  /** Returns the offset of a word in bytes. */
  static long offset(int lane, int column) {
    return (long) Integer.BYTES * (lane * COLUMNS + column);
  }

  int get(int lane, int column) {
    return words.get(LaneAccess.INT, offset(lane, column));
  }

  void set(int lane, int column, int word) {
    words.set(LaneAccess.INT, offset(lane, column), word);
  }

  /** Returns the bytes of the same columns of several lanes. */
  ByteRanges ranges(int[] lanes, int column, int columns) {
    return visitor -> {
      long bytes = (long) Integer.BYTES * columns;
      for (int i = 0; i < lanes.length; i++) {
        visitor.visit(memory, offset(lanes[i], column), bytes, i * bytes);
      }
    };
  }

  /** Returns why columns cannot be accessed; null if they can. */
  @Nullable String problem(int column, int columns) {
    var free = new boolean[columns];
    Arrays.fill(free, true);
    for (var each : allocations) {
      for (int i = Math.max(column, each.first); i < Math.min(column + columns, each.end()); i++) {
        free[i - column] = false;
      }
    }
    for (int i = 0; i < columns; i++) {
      if (free[i]) {
        return "accesses columns %d..%d of tensor memory, of which %d is not allocated"
            .formatted(column, column + columns - 1, column + i);
      }
    }
    return null;
  }

  /**
   * Allocates columns.
   *
   * @return their address
   * @throws IllegalArgumentException if the block cannot get them
   */
  int allocate(int columns, Instruction instruction, int thread) {
    if (columns < 32 || columns > COLUMNS || Integer.bitCount(columns) != 1) {
      throw new IllegalArgumentException(
          "allocates %d columns of tensor memory; give a power of two from 32 to 512"
              .formatted(columns));
    }
    if (relinquished) {
      throw new IllegalArgumentException(
          "allocates tensor memory after tcgen05.relinquish_alloc_permit");
    }
    int first = 0;
    while (first + columns <= COLUMNS && !isFree(first, columns)) {
      first += columns;
    }
    if (first + columns > COLUMNS) {
      throw new IllegalArgumentException(
          "waits for %d columns of tensor memory, but the block holds %d of 512; deallocate first"
              .formatted(columns, allocations.stream().mapToInt(Allocation::columns).sum()));
    }
    allocations.add(new Allocation(first, columns, instruction, thread));
    for (int lane = 0; lane < LANES; lane++) {
      for (int column = first; column < first + columns; column++) {
        set(lane, column, Registers.POISON);
      }
    }
    return first;
  }

  private boolean isFree(int first, int columns) {
    return allocations.stream()
        .noneMatch(each -> each.first < first + columns && first < each.end());
  }

  /**
   * Deallocates columns.
   *
   * @throws IllegalArgumentException if they are no allocation
   */
  void deallocate(int address, int columns) {
    if (!allocations.removeIf(each -> each.first == address && each.columns == columns)) {
      throw new IllegalArgumentException(
          "deallocates %d columns of tensor memory at 0x%x, which is no allocation"
              .formatted(columns, address));
    }
  }

  void relinquish() {
    relinquished = true;
  }

  /** Requires that all columns are deallocated when the last thread exits. */
  void checkFreed(Block block) {
    for (var each : allocations) {
      throw block.fault(
          each.thread,
          each.instruction,
          "the block exits without deallocating %d columns of tensor memory; execute tcgen05.dealloc"
              .formatted(each.columns));
    }
  }

  /** Issues a product. */
  void multiply(PendingOperation product) {
    while (!products.isEmpty() && products.getFirst().operation.isDone()) {
      products.removeFirst();
    }
    products.add(new Product(issued++, product));
    operations.issue(product);
  }

  /** Returns the number of products that the block has issued. */
  long issued() {
    return issued;
  }

  /** Performs the first products of the block. */
  void finishFirst(long count) {
    for (var each : List.copyOf(products)) {
      if (each.number < count && !each.operation.isDone()) {
        operations.finish(each.operation);
      }
    }
  }

  /** Issues a load or store of a warp. */
  void move(PendingOperation move, int warp, boolean load) {
    (load ? loads : stores).get(warp).add(move);
    operations.issue(move);
  }

  /** Completes the loads or stores of a warp. */
  void await(int warp, boolean load) {
    operations.finishAll((load ? loads : stores).get(warp));
  }
}
