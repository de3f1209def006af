package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.emulator.step.WarpSteps;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.emulator.watch.ByteRanges;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.RegisterTile;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Instructions of {@link WarpGroup}s. */
public final class WgmmaSteps {

  private static final int ROWS = 16;

  private WgmmaSteps() {}

  /**
   * The factor A.
   *
   * @param registers four registers, with the rows of each warp; empty = in shared memory
   * @param descriptor describes the matrix in shared memory
   */
  record Left(List<Lanes> registers, @Nullable Lanes descriptor, boolean byDepth) {}

  /** The factor B, in shared memory. */
  record Right(Lanes descriptor, boolean byDepth) {}

  /** {@code wgmma.mma_async}. */
  static final class Multiply implements Step.Collective {
    private final AsyncState async;
    private final Block block;
    private final Instruction instruction;
    private final List<Lanes> sums;
    private final Left left;
    private final Right right;
    private final Lanes keeps;
    private final MatrixShape shape;
    private final int bits;
    private final WgmmaProduct product;
    private final Fragment fragment;
    private final int[] indices;

    /**
     * @param keeps scale-d: whether to add to the accumulator, rather than replace it
     * @param shape in elements of {@code bits}
     */
    Multiply(
        AsyncState async,
        Instruction instruction,
        List<Lanes> sums,
        Left left,
        Right right,
        Lanes keeps,
        MatrixShape shape,
        int bits,
        WgmmaProduct product) {
      this.async = async;
      this.block = async.block;
      this.instruction = instruction;
      this.sums = sums;
      this.left = left;
      this.right = right;
      this.keeps = keeps;
      this.shape = shape;
      this.bits = bits;
      this.product = product;
      this.fragment = Fragments.wide(shape.n());
      this.indices = fragment.indices();
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
          group(async, instruction, warp).join(warp, this);
        }
      }
    }

    private void multiply(WarpGroup group, long leftDescriptor, long rightDescriptor, boolean add) {
      int m = shape.m();
      int n = shape.n();
      int k = shape.k();
      int[] a = new int[m * k];
      if (left.registers.isEmpty()) {
        var factor = factor(group, leftDescriptor, left.byDepth, m);
        for (int row = 0; row < m; row++) {
          for (int column = 0; column < k; column++) {
            a[row * k + column] = factor.element(row, column);
          }
        }
      } else {
        read(group, a);
      }
      var factor = factor(group, rightDescriptor, right.byDepth, n);
      int[] b = new int[k * n];
      for (int row = 0; row < k; row++) {
        for (int column = 0; column < n; column++) {
          b[row * n + column] = factor.element(column, row);
        }
      }
      int[] all = new int[m * n];
      if (add) {
        exchange(group, all, true);
      }
      product.add(a, b, all);
      exchange(group, all, false);
      sums.forEach(group::endWrite);
    }

    /**
     * Returns the 16-byte chunks of shared memory that the factors occupy, as far as they exist.
     */
    private ByteRanges factors(WarpGroup group, long leftDescriptor, long rightDescriptor) {
      var chunks = new BitSet();
      if (left.registers.isEmpty()) {
        factor(group, leftDescriptor, left.byDepth, shape.m()).addTo(chunks);
      }
      factor(group, rightDescriptor, right.byDepth, shape.n()).addTo(chunks);
      return SharedFactor.ranges(block, chunks);
    }

    private SharedFactor factor(WarpGroup group, long descriptor, boolean byDepth, int outer) {
      try {
        var matrix = SharedMatrix.of(descriptor, byDepth, bits / 8);
        return new SharedFactor(
            block, instruction, Warps.SIZE * group.first(), matrix, outer, shape.k());
      } catch (IllegalArgumentException e) {
        throw fault(group.first(), String.valueOf(e.getMessage()));
      }
    }

    /** Reads A from registers, of which each warp has 16 rows. */
    private void read(WarpGroup group, int[] a) {
      var tile = new RegisterTile(Fragments.a(ROWS, shape.k(), bits), bits, left.registers.size());
      int[] places = tile.indices();
      int per = tile.elementsPerRegister();
      for (int thread = 0; thread < WarpGroup.THREADS; thread++) {
        for (int register = 0; register < tile.registers(); register++) {
          int word = (int) left.registers.get(register).bits(Warps.thread(group.first(), thread));
          for (int i = 0; i < per; i++) {
            int held = (Warps.SIZE * register + Warps.laneOf(thread)) * per + i;
            a[ROWS * Warps.warpOf(thread) * shape.k() + places[held]] = word >>> (bits * i);
          }
        }
      }
    }

    /** Copies the accumulator from its registers, or to them. */
    private void exchange(WarpGroup group, int[] all, boolean load) {
      int elements = fragment.elements();
      int per = elements / sums.size();
      for (int i = 0; i < elements; i++) {
        int[] words = group.words(sums.get(i / per));
        int shift = 16 * (i % per);
        int mask = per == 1 ? -1 : 0xFFFF << shift;
        for (int thread = 0; thread < WarpGroup.THREADS; thread++) {
          int at =
              Warps.warpOf(thread) * ROWS * shape.n()
                  + indices[Warps.laneOf(thread) * elements + i];
          if (load) {
            all[at] = (words[thread] & mask) >>> shift;
          } else {
            words[thread] = (words[thread] & ~mask) | ((all[at] << shift) & mask);
          }
        }
      }
    }

    private long uniform(Lanes register, int warp, String what) {
      long value = register.bits(Warps.SIZE * warp);
      for (int lane = 1; lane < Warps.SIZE; lane++) {
        if (register.bits(Warps.thread(warp, lane)) != value) {
          throw block.fault(
              Warps.thread(warp, lane),
              instruction,
              "%s 0x%x, but 0x%x in lane 0; all threads must give the same"
                  .formatted(what, register.bits(Warps.thread(warp, lane)), value));
        }
      }
      return value;
    }

    private Fault fault(int warp, String what) {
      return block.fault(Warps.SIZE * warp, instruction, what);
    }
  }

  private static WarpGroup group(AsyncState async, Instruction instruction, int warp) {
    var block = async.block;
    var group = async.warpGroups.get(warp / WarpGroup.WARPS);
    if (group.first() + WarpGroup.WARPS > block.live.length) {
      throw block.fault(
          Warps.SIZE * warp,
          instruction,
          "needs four warps from a multiple of four on, but the block has only %d"
              .formatted(block.live.length));
    }
    return group;
  }

  /** A product that four warps issue together. */
  static final class Product extends PendingOperation {
    private final WarpGroup owner;
    private final Multiply step;
    private final int group;
    private int joined;
    private long left;
    private long right;
    private long keeps;

    /** The product as its observer sees it; null = no observer. */
    private AsyncObserver.@Nullable Product observed;

    private @Nullable ByteRanges factors;

    /**
     * @param group the wgmma-group that the product belongs to
     */
    Product(WarpGroup owner, Multiply step, int group) {
      this.owner = owner;
      this.step = step;
      this.group = group;
    }

    int group() {
      return group;
    }

    /** Returns whether all four warps have issued it. */
    boolean isComplete() {
      return joined == WarpGroup.ALL;
    }

    void join(int warp, Multiply own) {
      if (own != step || owner.committed(warp) != group) {
        throw own.fault(
            warp,
            "another warp of the warpgroup issued \"%s\" at %s as product %d of its groups; all"
                    .formatted(step.instruction, step.instruction.source(), group)
                + " four issue the same");
      }
      long ownLeft =
          own.left.descriptor == null
              ? 0
              : own.uniform(own.left.descriptor, warp, "the descriptor of A is");
      long ownRight = own.uniform(own.right.descriptor, warp, "the descriptor of B is");
      long ownKeeps = own.uniform(own.keeps, warp, "scale-d is");
      if (joined != 0 && (ownLeft != left || ownRight != right || ownKeeps != keeps)) {
        throw own.fault(
            warp,
            "the descriptors are 0x%x and 0x%x and scale-d is %d, but 0x%x, 0x%x and %d in another"
                    .formatted(ownLeft, ownRight, ownKeeps, left, right, keeps)
                + " warp of the warpgroup");
      }
      left = ownLeft;
      right = ownRight;
      keeps = ownKeeps;
      joined |= 1 << (warp - owner.first());
      step.sums.forEach(register -> owner.beginWrite(warp, register));
      tell(warp);
    }

    /** Notifies the observer that a warp takes part. */
    private void tell(int warp) {
      var observer = step.block.asyncObserver;
      if (observer == null) {
        return;
      }
      var read = factors;
      var product = observed;
      if (read == null || product == null) {
        read = step.factors(owner, left, right);
        product = observer.product(warp);
        factors = read;
        observed = product;
      }
      product.join(warp, read, group);
    }

    @Override
    void perform() {
      owner.finishBefore(this);
      step.multiply(owner, left, right, keeps != 0);
      owner.trim();
      step.block.progress();
    }

    /** Describes the product and the warps that have issued it. */
    @Override
    public String toString() {
      return "\"%s\" at %s, which warps 0x%x of the four of the warpgroup have issued"
          .formatted(step.instruction, step.instruction.source(), joined);
    }
  }

  /** {@code wgmma.commit_group}. */
  public record Commit(AsyncState async, Instruction instruction) implements Step.Collective {
    @Override
    public int needed(int warp, int mask) {
      return async.block.live[warp];
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (async.block.active[warp] != 0) {
          WarpSteps.checkFull(async.block, instruction, warp);
          group(async, instruction, warp).commit(warp);
        }
      }
    }
  }

  /**
   * {@code wgmma.wait_group}.
   *
   * @param but the number of newest groups to leave pending; or {@link #ALL}
   */
  public record Wait(AsyncState async, Instruction instruction, int but) implements Step.Event {
    /** Waits for products that are not committed too. */
    public static final int ALL = -1;

    @Override
    public boolean isReady(int warp, int mask) {
      return group(async, instruction, warp).incomplete(warp, but) == null;
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (async.block.active[warp] != 0) {
          var group = group(async, instruction, warp);
          async.pending.finishAll(group.before(warp, but));
          var observer = async.block.asyncObserver;
          if (observer != null && but != ALL) { // the program itself does not wait
            observer.awaitsProducts(warp, group.committed(warp) - but);
          }
        }
      }
    }

    @Override
    public String missing(int warp, int mask) {
      return "for " + group(async, instruction, warp).incomplete(warp, but);
    }
  }
}
