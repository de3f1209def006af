package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.ops.KernelCache;
import dev.athanor.service.device.DeviceCache;
import dev.athanor.service.device.DeviceMemory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The captured pipelines of one device, as an LRU cache. A pipeline is captured when it repeats.
 * Graphs are an optimization only: without one, a pipeline runs step by step.
 */
public final class CapturedPipelines implements DeviceCache {

  private static final Logger LOG = LoggerFactory.getLogger(CapturedPipelines.class);

  /** Pipelines remembered as candidates per cached graph. */
  private static final int CANDIDATES_PER_GRAPH = 8;

  /** Marks a pipeline that is not captured again. */
  private static final List<Double> NEVER = List.of();

  private final Device device;
  private final DeviceMemory memory;
  private final KernelCache kernels;
  private final int limit;

  private final ReentrantLock lock = new ReentrantLock();

  // guarded by the lock, in order of last use

  /** Step times of pipelines that have run step by step and are not captured. */
  private final Map<PipelineKey, List<Double>> firstRuns = new LinkedHashMap<>(16, 0.75f, true);

  private final Map<PipelineKey, CapturedPipeline> entries = new LinkedHashMap<>(16, 0.75f, true);

  /** Graphs in use by a run; some may have been evicted meanwhile. */
  private final Set<CapturedPipeline> busy = new HashSet<>();

  /**
   * Creates an empty cache.
   *
   * @param limit maximum number of graphs; 0 disables capturing
   */
  public CapturedPipelines(Device device, DeviceMemory memory, KernelCache kernels, int limit) {
    this.device = device;
    this.memory = memory;
    this.kernels = kernels;
    this.limit = limit;
    memory.onFree(this::freed);
  }

  /** Whether pipelines are captured at all. */
  boolean isEnabled() {
    return limit > 0;
  }

  private <T> T guarded(Supplier<T> action) {
    lock.lock();
    try {
      return action.get();
    } finally {
      lock.unlock();
    }
  }

  /** Records the step times of a pipeline that ran step by step. */
  void recordRun(PipelineKey key, List<Double> stepMicros) {
    lock.lock();
    try {
      if (!entries.containsKey(key)) {
        firstRuns.putIfAbsent(key, stepMicros);
        if (firstRuns.size() > CANDIDATES_PER_GRAPH * limit) {
          firstRuns.remove(firstRuns.keySet().iterator().next());
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Acquires the graph of a pipeline for one run, which must then release or drop it. Captures a
   * pipeline that has run before.
   *
   * @return empty if the pipeline is new, its graph is in use, or it cannot be captured
   */
  Optional<CapturedPipeline> take(PipelineKey key) {
    var evicted = new ArrayList<CapturedPipeline>();
    var found = guarded(() -> find(key, evicted));
    evicted.forEach(CapturedPipeline::close);
    return found.filter(captured -> captured.isCaptured() || capture(captured));
  }

  private boolean capture(CapturedPipeline captured) {
    try {
      captured.capture(device, kernels);
      return true;
    } catch (RuntimeException | Error e) {
      LOG.debug("Capturing a pipeline of {} steps failed", captured.key().stages().size(), e);
      refuse(captured);
      return false;
    }
  }

  private Optional<CapturedPipeline> find(PipelineKey key, List<CapturedPipeline> evicted) {
    var present = entries.get(key);
    if (present != null) {
      return busy.add(present) ? Optional.of(present) : Optional.empty();
    }
    var stepMicros = firstRuns.getOrDefault(key, NEVER);
    if (stepMicros.isEmpty()) {
      return Optional.empty();
    }
    if (entries.size() >= limit) {
      var idle = entries.values().stream().filter(each -> !busy.contains(each)).findFirst();
      if (idle.isEmpty()) {
        return Optional.empty();
      }
      entries.remove(idle.get().key());
      evicted.add(idle.get());
    }
    var captured = new CapturedPipeline(key, stepMicros, memory);
    firstRuns.remove(key);
    entries.put(key, captured);
    busy.add(captured);
    return Optional.of(captured);
  }

  /** Returns a graph after a run. */
  void release(CapturedPipeline captured) {
    boolean stays =
        guarded(() -> {
          busy.remove(captured);
          return entries.containsValue(captured);
        });
    if (!stays) {
      captured.close();
    }
  }

  /** Removes a graph from the cache and releases it. */
  void drop(CapturedPipeline captured) {
    guarded(() -> entries.remove(captured.key(), captured));
    release(captured);
  }

  /** Drops a graph that cannot be captured or launched, and never captures its pipeline again. */
  void refuse(CapturedPipeline captured) {
    drop(captured);
    recordRun(captured.key(), NEVER);
  }

  /** Drops matching graphs; graphs in use are closed when their runs end. */
  private void drop(Predicate<CapturedPipeline> which) {
    var idle =
        guarded(() -> {
          if (entries.isEmpty()) {
            return List.<CapturedPipeline>of(); // as on the emulator; called for each tensor
          }
          var dropped = entries.values().stream().filter(which).toList();
          entries.values().removeAll(dropped);
          return dropped.stream().filter(each -> !busy.contains(each)).toList();
        });
    idle.forEach(CapturedPipeline::close);
  }

  /** Drops graphs that read memory which is about to be freed. */
  private void freed(Buffer buffer) {
    drop(captured -> captured.reads(buffer));
  }

  /** Drops all graphs that are not in use. */
  @Override
  public void evictIdle() {
    drop(captured -> !busy.contains(captured));
  }

  /** Drops all graphs and all recorded runs. */
  @Override
  public void forget() {
    lock.lock();
    try {
      firstRuns.clear();
    } finally {
      lock.unlock();
    }
    drop(_ -> true);
  }

  @Override
  public void close() {
    forget();
  }
}
