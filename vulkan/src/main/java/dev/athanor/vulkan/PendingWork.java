package dev.athanor.vulkan;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The open streams of a device, and what is freed after the work that they held when it was closed.
 */
final class PendingWork {

  private final Set<VulkanStream> streams = ConcurrentHashMap.newKeySet();
  private final Deque<Deferred> deferred = new ArrayDeque<>();

  private record Deferred(List<Timeline.Point> after, Runnable action) {
    boolean isReady() {
      return after.stream().allMatch(Timeline.Point::hasPassed);
    }
  }

  void add(VulkanStream stream) {
    streams.add(stream);
  }

  void remove(VulkanStream stream) {
    streams.remove(stream);
  }

  /** Runs an action after all work that the streams hold now. */
  void defer(Runnable action) {
    var after = streams.stream().map(VulkanStream::point).filter(p -> !p.hasPassed()).toList();
    if (after.isEmpty()) {
      action.run();
    } else {
      synchronized (this) {
        deferred.add(new Deferred(after, action));
      }
      sweep();
    }
  }

  /** Runs the actions whose work has completed. */
  void sweep() {
    var ready = new ArrayList<Runnable>();
    synchronized (this) {
      while (!deferred.isEmpty() && deferred.element().isReady()) {
        ready.add(deferred.remove().action);
      }
    }
    ready.forEach(Runnable::run);
  }

  /** Waits for the work and runs all actions. */
  void finish() {
    List<Deferred> all;
    synchronized (this) {
      all = List.copyOf(deferred);
      deferred.clear();
    }
    for (var each : all) {
      each.after.forEach(Timeline.Point::await);
      each.action.run();
    }
  }

  void closeStreams() {
    List.copyOf(streams).forEach(VulkanStream::close);
  }
}
