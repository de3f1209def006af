package dev.athanor.engine.cuda.context;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * Driver resources to free once the work that streams already hold has completed. Each {@link #add}
 * frees what is due; allocators may sweep too.
 */
public final class DeferredFrees {

  private final OpenStreams streams;
  private final Deque<DeferredFree> pending = new ArrayDeque<>();

  public DeferredFrees(OpenStreams streams) {
    this.streams = streams;
  }

  private record DeferredFree(List<StreamFence> fences, Runnable free) {
    boolean isDue() {
      return fences.stream().allMatch(StreamFence::hasPassed);
    }
  }

  /** Runs {@code free} after all work that any open stream holds now. */
  public synchronized void add(Runnable free) {
    pending.add(new DeferredFree(streams.fences(), free));
    sweep();
  }

  /** Frees what is due, without waiting. */
  public synchronized void sweep() {
    for (var each = pending.iterator(); each.hasNext(); ) {
      var next = each.next();
      if (next.isDue()) {
        each.remove();
        next.free.run();
      }
    }
  }

  /** Waits until everything is freed; returns whether anything was pending. */
  public synchronized boolean finish() {
    boolean any = !pending.isEmpty();
    while (!pending.isEmpty()) {
      var next = pending.remove();
      next.fences.forEach(StreamFence::await);
      next.free.run();
    }
    return any;
  }
}
