package dev.athanor.engine.lift.host;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report.Index;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A block that runs in plain Java, one virtual thread for each of its threads.
 *
 * <p>A thread that fails ends the block: the others end at their next barrier or exchange. So do
 * threads that can never go on: those that wait for each other at different places.
 */
final class ThreadBlock {

  /** Ends a thread of a block that has failed. */
  private static final class Stopped extends Error {
    private static final long serialVersionUID = 1;

    Stopped() {
      super("the block has failed", null, false, false);
    }
  }

  /**
   * Why a block has failed.
   *
   * @param sentence with the block's and the thread's index
   */
  record Failure(String sentence, @Nullable Throwable cause) {}

  private final BlockGrid grid;
  private final Dim3 extents;
  private final Index index;
  private final int size;
  private final SharedArrays shared;
  private final ReentrantLock lock = new ReentrantLock();
  private final Meeting barrier;
  private final List<Meeting> warps = new ArrayList<>();

  private int live;
  private int waiting;
  private volatile @Nullable Failure failure;

  ThreadBlock(BlockGrid grid, Dim3 extents, Index index, int dynamicSharedBytes) {
    this.grid = grid;
    this.extents = extents;
    this.index = index;
    this.size = (int) extents.count();
    this.live = size;
    this.shared = new SharedArrays(dynamicSharedBytes);
    this.barrier = new Meeting(this, 0, size, lock.newCondition());
    for (int first = 0; first < size; first += GpuThread.LANES) {
      warps.add(
          new Meeting(this, first, Math.min(GpuThread.LANES, size - first), lock.newCondition()));
    }
  }

  Dim3 grid() {
    return grid.extents();
  }

  void print(String text) {
    grid.print(text);
  }

  Dim3 extents() {
    return extents;
  }

  Index index() {
    return index;
  }

  /** Returns the number of threads. */
  int size() {
    return size;
  }

  SharedArrays shared() {
    return shared;
  }

  /** Returns whether a warp has had a lane when the kernel started. */
  boolean has(int warp, int lane) {
    return warp * GpuThread.LANES + lane < size;
  }

  /**
   * Runs the kernel in all threads of the block.
   *
   * @return why it failed, or null
   * @throws InterruptedException if the calling thread is interrupted; the block's threads are
   *     ended
   */
  @Nullable Failure run(MethodHandle kernel) throws InterruptedException {
    var threads = new ArrayList<Thread>(size);
    for (int number = 0; number < size; number++) {
      var thread = new GpuThread(this, number);
      threads.add(Thread.ofVirtual().name(thread.toString()).start(() -> run(thread, kernel)));
    }
    try {
      for (var thread : threads) {
        thread.join();
      }
    } catch (InterruptedException interrupted) {
      fail(new Failure("block %s: the launch was interrupted".formatted(index), interrupted));
      throw interrupted;
    }
    return failure;
  }

  private void run(GpuThread thread, MethodHandle kernel) {
    try {
      thread.run(kernel);
    } catch (Stopped _) {
      return;
    } catch (Throwable thrown) {
      fail(new Failure("%s: %s".formatted(thread, thrown), thrown));
      return;
    }
    lock.lock();
    try {
      leave(thread);
    } catch (Stopped _) {
      // the failure is noted
    } finally {
      lock.unlock();
    }
  }

  private void leave(GpuThread thread) {
    live--;
    if (barrier.arrived() > 0) {
      throw stop(
          "thread %s left the kernel, but the block waits for it: %s"
              .formatted(thread.threadIdx(), WaitReport.of(this)));
    }
    barrier.leave(thread.number());
    warps.get(thread.warp()).leave(thread.number());
    checkProgress();
  }

  /** Lets a thread wait for all others of the block. */
  void barrier(GpuThread thread, CallSite site) {
    lock.lock();
    try {
      checkRunning();
      if (barrier.left() > 0) {
        throw stop(
            "thread %s comes to %s, but %d of %d threads have left the kernel; every thread of a"
                    .formatted(thread.threadIdx(), site, barrier.left(), size)
                + " block must come to a barrier");
      }
      barrier.await(thread.number(), site, Meeting.ALL, 0);
    } finally {
      lock.unlock();
    }
  }

  /** Lets a thread wait for all others of the grid: the first of each block for those of others. */
  void gridBarrier(GpuThread thread, CallSite site) {
    barrier(thread, site);
    if (thread.number() == 0) {
      var reason = grid.await(this, site);
      if (reason != null) {
        throw stop(reason);
      }
    }
    barrier(thread, site);
  }

  /**
   * Lets a thread wait for others of its warp, and returns what they pass.
   *
   * @param lanes mask of the lanes that exchange values, with this thread's
   */
  WarpValues exchange(GpuThread thread, CallSite site, int lanes, long value) {
    lock.lock();
    try {
      checkRunning();
      if (((lanes >>> thread.lane()) & 1) == 0) {
        throw stop(
            "%s comes to %s, but its lane %d is not in the mask 0x%x"
                .formatted(thread, site, thread.lane(), lanes));
      }
      return warps.get(thread.warp()).await(thread.number(), site, lanes, value);
    } finally {
      lock.unlock();
    }
  }

  /** Notes that one more thread waits. */
  void waits() {
    waiting++;
  }

  /** Notes that threads wait no longer. */
  void resume(int threads) {
    waiting -= threads;
  }

  /** Fails the block if all threads wait for others. */
  void checkProgress() {
    if (live > 0 && waiting == live) {
      throw stop("all threads wait for others: " + WaitReport.of(this));
    }
  }

  /** Fails the block unless the given threads of each warp wait at the same call. */
  void checkSameCalls(int[] threads) {
    for (int i = 1; i < threads.length; i++) {
      int warp = threads[i] / GpuThread.LANES;
      if (warp == threads[i - 1] / GpuThread.LANES
          && !Objects.equals(waitsAt(threads[i]), waitsAt(threads[i - 1]))) {
        throw stop("lanes of a warp call different operations: " + WaitReport.of(this));
      }
    }
  }

  /** Ends this thread if the block has failed. */
  void checkRunning() {
    if (failure != null) {
      throw new Stopped();
    }
  }

  /** Returns the call at which a thread waits, or null if it runs or has left. */
  @Nullable CallSite waitsAt(int thread) {
    var site = warps.get(thread / GpuThread.LANES).waiting(thread);
    return site != null ? site : barrier.waiting(thread);
  }

  private Stopped stop(String sentence) {
    fail(new Failure("block %s: %s".formatted(index, sentence), null));
    return new Stopped();
  }

  private void fail(Failure reason) {
    lock.lock();
    try {
      if (failure == null) {
        failure = reason;
      }
      barrier.wake();
      warps.forEach(Meeting::wake);
    } finally {
      lock.unlock();
    }
  }
}
