package dev.athanor.engine.lift.host;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report.Index;
import java.lang.invoke.MethodHandle;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A thread of a kernel that runs in plain Java: its position, and what it does together with other
 * threads. All operations exchange bits, so that one implementation serves all types.
 */
public final class GpuThread {
  static final int LANES = 32;
  private static final int LANE_BITS = LANES - 1;

  /** Receives what kernels print unless a launch says otherwise. */
  public static final Consumer<String> STANDARD_OUTPUT = text -> System.out.print(text);

  private static final ScopedValue<GpuThread> CURRENT = ScopedValue.newInstance();

  private final ThreadBlock block;
  private final int number;
  private final Index index;

  GpuThread(ThreadBlock block, int number) {
    var extents = block.extents();
    this.block = block;
    this.number = number;
    this.index =
        new Index(
            number % extents.x(),
            number / extents.x() % extents.y(),
            number / extents.x() / extents.y());
  }

  /**
   * Returns the GPU thread that this Java thread runs.
   *
   * @throws IllegalStateException if no kernel runs here
   */
  public static GpuThread current() {
    if (!CURRENT.isBound()) {
      throw new IllegalStateException(
          "this method of Gpu works only in a kernel that is running; run the kernel as plain Java"
              + " with Kernels.of(Saxpy::saxpy).inJava().launch(grid, arguments), where Saxpy.saxpy"
              + " stands for your method");
    }
    return CURRENT.get();
  }

  /**
   * Runs the kernel in this thread.
   *
   * @param kernel without parameters or result
   */
  void run(MethodHandle kernel) throws Throwable {
    ScopedValue.where(CURRENT, this)
        .<@Nullable Void, Throwable>call(() -> {
          kernel.invokeExact();
          return null;
        });
  }

  public Index threadIdx() {
    return index;
  }

  public Index blockIdx() {
    return block.index();
  }

  public Dim3 blockDim() {
    return block.extents();
  }

  public Dim3 gridDim() {
    return block.grid();
  }

  /** Prints a text to the output of the launch; outside of one, to the standard output. */
  public static void print(String text) {
    if (CURRENT.isBound()) {
      CURRENT.get().block.print(text);
    } else {
      STANDARD_OUTPUT.accept(text);
    }
  }

  /** Returns the index of this thread in its warp. */
  public int lane() {
    return number % LANES;
  }

  /** Returns the index of this thread's warp in its block. */
  public int warp() {
    return number / LANES;
  }

  /** Returns the index of this thread in its block, x fastest. */
  int number() {
    return number;
  }

  /** Returns the array in shared memory that belongs to the call of {@code Gpu} on the stack. */
  public <T> T shared(Class<T> type, int length) {
    return block.shared().of(site(), type, length);
  }

  /** Returns the block's dynamic shared memory. */
  public <T> T dynamicShared(Class<T> type) {
    return block.shared().dynamic(type);
  }

  public void barrier() {
    block.barrier(this, site());
  }

  public void gridBarrier() {
    block.gridBarrier(this, site());
  }

  public void warpBarrier(int members) {
    exchange(0, members);
  }

  public long shuffle(long bits, int lane, int members) {
    return exchanged(bits, lane & LANE_BITS, members);
  }

  public long shuffleXor(long bits, int mask, int members) {
    return exchanged(bits, lane() ^ (mask & LANE_BITS), members);
  }

  public long shuffleUp(long bits, int distance, int members) {
    int other = lane() - (distance & LANE_BITS);
    return exchanged(bits, other < 0 ? lane() : other, members);
  }

  public long shuffleDown(long bits, int distance, int members) {
    int other = lane() + (distance & LANE_BITS);
    return exchanged(bits, other < LANES ? other : lane(), members);
  }

  public int ballot(boolean vote, int members) {
    var votes = exchange(vote ? 1 : 0, members);
    int mask = 0;
    for (int lane = 0; lane < LANES; lane++) {
      mask |= (int) votes.values()[lane] << lane;
    }
    return mask;
  }

  private static CallSite site() {
    return CallSite.below(GpuThread.class);
  }

  private WarpValues exchange(long bits, int members) {
    return block.exchange(this, site(), members, bits);
  }

  /** Passes bits to others of the warp, and returns those of a lane. */
  private long exchanged(long bits, int lane, int members) {
    var passed = exchange(bits, members);
    if (((passed.lanes() >>> lane) & 1) == 0) {
      throw new IllegalStateException(
          "lane %d asks for the value of lane %d, which %s"
              .formatted(lane(), lane, absence(lane, members)));
    }
    return passed.values()[lane];
  }

  private String absence(int lane, int members) {
    if (((members >>> lane) & 1) == 0) {
      return "is not in the mask 0x%x".formatted(members);
    }
    return block.has(warp(), lane)
        ? "has left the kernel"
        : "does not exist: the block has %d threads".formatted(block.size());
  }

  @Override
  public String toString() {
    return "block %s thread %s".formatted(block.index(), index);
  }
}
