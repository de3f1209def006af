package dev.athanor.service.device;

import dev.athanor.engine.device.Device;
import io.opentelemetry.context.Context;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Platform threads for calls that do not yield: blocking driver calls and compilation. On a virtual
 * thread, such a call would pin its carrier, and carriers serve all requests, including liveness
 * probes. Each device has its own threads, so that a hanging device delays only its own users.
 */
final class PlatformThreads implements AutoCloseable {

  /** Maximum number of threads; further calls wait. */
  private static final int MOST = 8;

  private static final int IDLE_SECONDS = 30;

  private final ThreadPoolExecutor threads;

  /** Creates the threads of a device; they start on demand. */
  PlatformThreads(Device device) {
    ThreadFactory factory =
        Thread.ofPlatform().daemon().name(device.capability().id() + "-call-", 0).factory();
    threads =
        new ThreadPoolExecutor(
            MOST, MOST, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * Runs work on a platform thread and waits for it; runs it directly if called on a platform
   * thread.
   */
  <T> T call(Supplier<T> work) {
    if (!Thread.currentThread().isVirtual()) {
      return work.get();
    }
    var done = CompletableFuture.supplyAsync(Context.current().wrapSupplier(work), threads);
    ProcessorShares.release(); // the device may hang
    try {
      return done.join();
    } catch (CompletionException e) {
      switch (e.getCause()) {
        case RuntimeException failure -> throw failure;
        case Error error -> throw error;
        case null, default -> throw e;
      }
    }
  }

  /**
   * Runs work on a platform thread and waits for it; runs it directly if called on a platform
   * thread.
   */
  void run(Runnable work) {
    call(() -> {
      work.run();
      return true;
    });
  }

  @Override
  public void close() {
    threads.shutdown();
  }
}
