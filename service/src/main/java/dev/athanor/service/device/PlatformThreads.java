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
 * Platform threads for calls that do not yield: a driver that blocks, a compiler that computes. A
 * virtual thread would keep its carrier meanwhile, and the carriers serve all requests, the probes
 * of liveness among them. Each device has threads of its own, so that one that hangs holds up
 * nobody but its users.
 */
final class PlatformThreads implements AutoCloseable {

  /** More calls wait for one of these. */
  private static final int MOST = 8;

  private static final int IDLE_SECONDS = 30;

  private final ThreadPoolExecutor threads;

  /** Threads for a device; none is started yet. */
  PlatformThreads(Device device) {
    ThreadFactory factory =
        Thread.ofPlatform().daemon().name(device.capability().id() + "-call-", 0).factory();
    threads =
        new ThreadPoolExecutor(
            MOST, MOST, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
    threads.allowCoreThreadTimeOut(true);
  }

  /** Does something and waits for it: in this thread unless it is a virtual one. */
  <T> T call(Supplier<T> work) {
    if (!Thread.currentThread().isVirtual()) {
      return work.get();
    }
    var done = CompletableFuture.supplyAsync(Context.current().wrapSupplier(work), threads);
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

  /** Does something and waits for it: in this thread unless it is a virtual one. */
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
