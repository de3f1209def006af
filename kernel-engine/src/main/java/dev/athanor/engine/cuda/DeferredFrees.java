package dev.athanor.engine.cuda;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * What the driver is to be given back once work that streams hold already is done. It is looked
 * through whenever something is added, and whoever allocates may ask for it.
 */
final class DeferredFrees {

  private final Context context;
  private final Deque<Due> due = new ArrayDeque<>();

  DeferredFrees(Context context) {
    this.context = context;
  }

  private record Due(List<StreamFence> fences, Runnable end) {
    boolean ready() {
      return fences.stream().allMatch(StreamFence::passed);
    }
  }

  /** Gives something back as soon as all work is done that any stream holds now. */
  synchronized void add(Runnable end) {
    due.add(new Due(context.fences(), end));
    sweep();
  }

  /** Gives back what can be without waiting. */
  synchronized void sweep() {
    for (var each = due.iterator(); each.hasNext(); ) {
      var next = each.next();
      if (next.ready()) {
        each.remove();
        next.end.run();
      }
    }
  }

  /** Waits and gives everything back; false when there was nothing. */
  synchronized boolean finish() {
    boolean any = !due.isEmpty();
    while (!due.isEmpty()) {
      var next = due.remove();
      next.fences.forEach(StreamFence::await);
      next.end.run();
    }
    return any;
  }
}
