package dev.athanor.engine.lift.host;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report.Index;
import dev.athanor.engine.lift.host.ThreadBlock.Failure;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a launch in plain Java. They run one after another until one waits for the whole
 * grid: all others then start, too.
 */
final class BlockGrid {

  private final Dim3 extents;
  private final Dim3 block;
  private final int dynamicSharedBytes;
  private final Consumer<String> output;
  private final Object printing = new Object();
  private final MethodHandle kernel;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition over = lock.newCondition();
  private final List<Thread> started = new ArrayList<>();

  private long next;
  private long ended;
  private long arrived;
  private long round;
  private @Nullable Failure failure;

  /**
   * @param output receives the text of each call that prints
   * @param kernel without parameters or result
   */
  BlockGrid(
      Dim3 extents,
      Dim3 block,
      int dynamicSharedBytes,
      Consumer<String> output,
      MethodHandle kernel) {
    this.extents = extents;
    this.block = block;
    this.dynamicSharedBytes = dynamicSharedBytes;
    this.output = output;
    this.kernel = kernel;
  }

  /** Passes a text on; one thread at a time. */
  void print(String text) {
    synchronized (printing) {
      output.accept(text);
    }
  }

  Dim3 extents() {
    return extents;
  }

  /**
   * Runs all blocks, up to one that fails.
   *
   * @return why one failed first, or null
   */
  @Nullable Failure run() throws InterruptedException {
    try {
      for (var each = nextBlock(); each != null; each = nextBlock()) {
        end(each.run(kernel));
      }
      for (var thread : started) {
        thread.join();
      }
    } catch (InterruptedException interrupted) {
      end(new Failure("the launch was interrupted", interrupted));
      throw interrupted;
    }
    return failure;
  }

  private @Nullable ThreadBlock nextBlock() {
    lock.lock();
    try {
      if (failure != null || next == extents.count()) {
        return null;
      }
      long number = next++;
      var index =
          new Index(
              (int) (number % extents.x()),
              (int) (number / extents.x() % extents.y()),
              (int) (number / extents.x() / extents.y()));
      return new ThreadBlock(this, block, index, dynamicSharedBytes);
    } finally {
      lock.unlock();
    }
  }

  private void end(@Nullable Failure reason) {
    lock.lock();
    try {
      ended++;
      if (failure == null) {
        failure = reason;
      }
      over.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lets a block wait for all others.
   *
   * @return why it waits in vain, or null
   */
  @Nullable String await(ThreadBlock waiting, CallSite site) {
    lock.lock();
    try {
      for (var each = nextBlock(); each != null; each = nextBlock()) {
        var other = each;
        started.add(Thread.startVirtualThread(() -> runApart(other)));
      }
      long mine = round;
      arrived++;
      if (arrived == extents.count()) {
        arrived = 0;
        round++;
        over.signalAll();
      }
      while (round == mine) {
        if (ended > 0) {
          return "the grid waits at %s, but %d of %d blocks have left the kernel or failed"
              .formatted(site, ended, extents.count());
        }
        over.awaitUninterruptibly();
      }
      return null;
    } finally {
      lock.unlock();
    }
  }

  private void runApart(ThreadBlock other) {
    Failure reason = null;
    try {
      reason = other.run(kernel);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      reason = new Failure("the launch was interrupted", interrupted);
    } finally {
      end(reason);
    }
  }
}
