package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.async.TensorMemorySteps.TensorAddress;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/** Products in {@link TensorMemory}, which single threads issue, and their completion. */
final class TensorMemoryProducts {

  private TensorMemoryProducts() {}

  /**
   * {@code tcgen05.mma}.
   *
   * @param a the address of A in tensor memory; null = {@code left} describes A in shared memory
   * @param adds enable-input-d: whether to add to D, rather than replace it
   */
  record Multiply(
      AsyncState async,
      Instruction instruction,
      TensorAddress d,
      @Nullable TensorAddress a,
      @Nullable Lanes left,
      Lanes right,
      Lanes descriptor,
      Lanes adds)
      implements Step {

    @Override
    public void execute(int first, int end, boolean whole) {
      var block = async.block;
      for (int warp = first; warp < end; warp++) {
        for (int mask = block.active[warp]; mask != 0; mask &= mask - 1) {
          int thread = Warps.firstThread(warp, mask);
          try {
            new Product(this, thread).issue();
          } catch (IllegalArgumentException e) {
            throw block.fault(thread, instruction, String.valueOf(e.getMessage()));
          }
        }
      }
    }
  }

  /** A product that a thread has issued. */
  private static final class Product extends PendingOperation {
    private static final int LANES_OF_HALF = 16;

    private final Block block;
    private final TensorMemory memory;
    private final int thread;
    private final ProductDescriptor descriptor;
    private final boolean adds;
    private final int sums;

    /** The lane of tensor memory for each row of D and A. */
    private final int[] lanes;

    private final int left;
    private final @Nullable SharedFactor a;
    private final SharedFactor b;

    /** The number of products that the block issued before. */
    private long ordinal;

    /**
     * Decodes the operands.
     *
     * @throws IllegalArgumentException if a rule is violated
     */
    Product(Multiply step, int thread) {
      block = step.async.block;
      memory = step.async.tensorMemory();
      this.thread = thread;
      var instruction = step.instruction;
      descriptor =
          ProductDescriptor.of((int) step.descriptor.bits(thread), instruction.modifiers());
      adds = step.adds.bits(thread) != 0;
      sums = step.d.of(thread);
      lanes = lanes(sums);
      var shape = descriptor.shape();
      int size = descriptor.a().bytes();
      b =
          new SharedFactor(
              block,
              instruction,
              thread,
              SharedMatrix.ofTensorMemoryProduct(
                  step.right.bits(thread), descriptor.byDepthB(), size),
              shape.n(),
              shape.k());
      a =
          step.left == null
              ? null
              : new SharedFactor(
                  block,
                  instruction,
                  thread,
                  SharedMatrix.ofTensorMemoryProduct(
                      step.left.bits(thread), descriptor.byDepthA(), size),
                  shape.m(),
                  shape.k());
      left = step.a == null ? 0 : step.a.of(thread);
      check(sums, shape.n());
      if (a == null) {
        check(left, shape.k() * size / Integer.BYTES);
        if (TensorMemory.lane(left) != TensorMemory.lane(sums)) {
          throw new IllegalArgumentException(
              "A starts at lane %d of tensor memory, D at lane %d; both must be the same"
                  .formatted(TensorMemory.lane(left), TensorMemory.lane(sums)));
        }
      }
    }

    /** Returns the lanes of the rows: all, or half of those of each warp (layouts D and F). */
    private int[] lanes(int address) {
      int first = TensorMemory.lane(address);
      int m = descriptor.shape().m();
      boolean half = m < TensorMemory.LANES;
      if (first != 0 && !(half && first == LANES_OF_HALF)) {
        throw new IllegalArgumentException(
            "D starts at lane %d of tensor memory; with m = %d it starts at lane %s"
                .formatted(first, m, half ? "0 or 16" : "0"));
      }
      var all = new int[m];
      for (int row = 0; row < m; row++) {
        all[row] =
            half
                ? first + row / LANES_OF_HALF * TensorMemory.LANES_OF_WARP + row % LANES_OF_HALF
                : row;
      }
      return all;
    }

    private void check(int address, int columns) {
      var problem = memory.problem(TensorMemory.column(address), columns);
      if (problem != null) {
        throw new IllegalArgumentException(problem);
      }
    }

    void issue() {
      var observer = block.asyncObserver;
      if (observer != null) {
        observe(observer);
      }
      ordinal = memory.issued();
      memory.multiply(this);
    }

    private void observe(AsyncObserver observer) {
      var chunks = new BitSet();
      b.addTo(chunks);
      if (a != null) {
        a.addTo(chunks);
      }
      var shared = SharedFactor.ranges(block, chunks);
      var shape = descriptor.shape();
      int columns = shape.k() * descriptor.a().bytes() / Integer.BYTES;
      observer.multiplies(
          thread,
          a != null
              ? shared
              : visitor -> {
                shared.forEach(visitor);
                memory.ranges(lanes, TensorMemory.column(left), columns).forEach(visitor);
              },
          memory.ranges(lanes, TensorMemory.column(sums), shape.n()),
          adds);
    }

    @Override
    void perform() {
      memory.finishFirst(ordinal);
      var shape = descriptor.shape();
      var rows = new int[shape.m() * shape.k()];
      for (int i = 0; i < rows.length; i++) {
        rows[i] = left(i / shape.k(), i % shape.k());
      }
      var columns = new int[shape.k() * shape.n()];
      for (int i = 0; i < columns.length; i++) {
        columns[i] = b.element(i % shape.n(), i / shape.n());
      }
      int column = TensorMemory.column(sums);
      var all = new int[shape.m() * shape.n()];
      for (int i = 0; adds && i < all.length; i++) {
        all[i] = memory.get(lanes[i / shape.n()], column + i % shape.n());
      }
      descriptor.product().add(rows, columns, all);
      int mask = descriptor.d() == Type.F16 ? 0xFFFF : -1;
      for (int i = 0; i < all.length; i++) {
        memory.set(lanes[i / shape.n()], column + i % shape.n(), all[i] & mask);
      }
      block.progress();
    }

    private int left(int row, int k) {
      if (a != null) {
        return a.element(row, k);
      }
      int size = descriptor.a().bytes();
      int at = k * size;
      int word = memory.get(lanes[row], TensorMemory.column(left) + at / Integer.BYTES);
      return word >>> (Byte.SIZE * (at % Integer.BYTES));
    }
  }

  /** {@code tcgen05.commit}. */
  static final class Commit implements Step {
    private final AsyncState async;
    private final Instruction instruction;
    private final MbarrierFinder finder;

    Commit(AsyncState async, Instruction instruction, Addresses addresses) {
      this.async = async;
      this.instruction = instruction;
      this.finder = new MbarrierFinder(async, instruction, addresses);
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        int mask = async.block.active[warp];
        if (mask == 0) {
          continue;
        }
        finder.resolve(warp, mask);
        finder.observe();
        for (int left = mask; left != 0; left &= left - 1) {
          int lane = Integer.numberOfTrailingZeros(left);
          int thread = Warps.thread(warp, lane);
          var barrier = finder.find(lane);
          var observer = async.block.asyncObserver;
          var signal = observer == null ? null : observer.productsArrive(barrier, thread);
          var arrival = new Arrival(barrier, thread, signal);
          barrier.addSignal(arrival);
          async.pending.issue(arrival);
        }
      }
    }

    private final class Arrival extends PendingOperation {
      private final Mbarrier barrier;
      private final int thread;
      private final AsyncObserver.@Nullable Signal signal;
      private final long products = async.tensorMemory().issued();

      Arrival(Mbarrier barrier, int thread, AsyncObserver.@Nullable Signal signal) {
        this.barrier = barrier;
        this.thread = thread;
        this.signal = signal;
      }

      @Override
      void perform() {
        async.tensorMemory().finishFirst(products);
        if (signal != null) {
          signal.done();
        }
        var violation = barrier.arrive(1, true);
        if (violation != null) {
          throw async.block.fault(Kind.MBARRIER_COUNT, thread, instruction, violation);
        }
      }
    }
  }
}
