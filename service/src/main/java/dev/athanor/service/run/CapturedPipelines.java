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
 * The pipelines of a device that have come before, those that came last as graphs. None of this is
 * needed for a result: where a graph cannot be had a pipeline runs step by step.
 */
public final class CapturedPipelines implements DeviceCache {

  private static final Logger LOG = LoggerFactory.getLogger(CapturedPipelines.class);

  /** How many pipelines are remembered for each that is kept as a graph. */
  private static final int SEEN_FOR_EACH = 8;

  /** In place of the times of a pipeline that is not tried again. */
  private static final List<Double> NEVER = List.of();

  private final Device device;
  private final DeviceMemory memory;
  private final KernelCache kernels;
  private final int most;

  private final ReentrantLock lock = new ReentrantLock();

  // guarded by the lock, those used last at the end

  /** How long the steps of pipelines took that ran step by step. */
  private final Map<PipelineKey, List<Double>> seen = new LinkedHashMap<>(16, 0.75f, true);

  private final Map<PipelineKey, CapturedPipeline> kept = new LinkedHashMap<>(16, 0.75f, true);

  /** Those that a run has, some of which may be kept no longer. */
  private final Set<CapturedPipeline> busy = new HashSet<>();

  /**
   * Graphs of a device.
   *
   * @param most how many are kept
   */
  public CapturedPipelines(Device device, DeviceMemory memory, KernelCache kernels, int most) {
    this.device = device;
    this.memory = memory;
    this.kernels = kernels;
    this.most = most;
    memory.onFree(this::freed);
  }

  /** Whether there are any at all. */
  boolean areKept() {
    return most > 0;
  }

  private <T> T guarded(Supplier<T> action) {
    lock.lock();
    try {
      return action.get();
    } finally {
      lock.unlock();
    }
  }

  /** A pipeline ran step by step, in these times. */
  void seen(PipelineKey wiring, List<Double> stepMicros) {
    lock.lock();
    try {
      if (!kept.containsKey(wiring)) {
        seen.putIfAbsent(wiring, stepMicros);
        if (seen.size() > SEEN_FOR_EACH * most) {
          seen.remove(seen.keySet().iterator().next());
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * The graph of a pipeline, for one run that then gives it back or drops it. A pipeline that was
   * seen once is captured.
   *
   * @return empty when the pipeline is new, another run has its graph, or it cannot be captured
   */
  Optional<CapturedPipeline> take(PipelineKey wiring) {
    var evicted = new ArrayList<CapturedPipeline>();
    var found = guarded(() -> find(wiring, evicted));
    evicted.forEach(CapturedPipeline::close);
    return found.filter(replay -> replay.isCaptured() || capture(replay));
  }

  private boolean capture(CapturedPipeline replay) {
    try {
      replay.capture(device, kernels);
      return true;
    } catch (RuntimeException | Error e) {
      LOG.debug("a pipeline of {} steps stays one", replay.wiring().stages().size(), e);
      refuse(replay);
      return false;
    }
  }

  private Optional<CapturedPipeline> find(PipelineKey wiring, List<CapturedPipeline> evicted) {
    var present = kept.get(wiring);
    if (present != null) {
      return busy.add(present) ? Optional.of(present) : Optional.empty();
    }
    var stepMicros = seen.getOrDefault(wiring, NEVER);
    if (stepMicros.isEmpty()) {
      return Optional.empty();
    }
    if (kept.size() >= most) {
      var idle = kept.values().stream().filter(one -> !busy.contains(one)).findFirst();
      if (idle.isEmpty()) {
        return Optional.empty();
      }
      kept.remove(idle.get().wiring());
      evicted.add(idle.get());
    }
    var replay = new CapturedPipeline(wiring, stepMicros, memory);
    seen.remove(wiring);
    kept.put(wiring, replay);
    busy.add(replay);
    return Optional.of(replay);
  }

  /** A run is done with a graph. */
  void giveBack(CapturedPipeline replay) {
    boolean stays =
        guarded(() -> {
          busy.remove(replay);
          return kept.containsValue(replay);
        });
    if (!stays) {
      replay.close();
    }
  }

  /** A run is done with a graph, and so are all others. */
  void drop(CapturedPipeline replay) {
    guarded(() -> kept.remove(replay.wiring(), replay));
    giveBack(replay);
  }

  /** Drops a graph for which there is no room or no way, and does not try again. */
  void refuse(CapturedPipeline replay) {
    drop(replay);
    seen(replay.wiring(), NEVER);
  }

  /** Drops graphs, those that are at work when their runs end. */
  private void drop(Predicate<CapturedPipeline> which) {
    var idle =
        guarded(() -> {
          var dropped = kept.values().stream().filter(which).toList();
          kept.values().removeAll(dropped);
          return dropped.stream().filter(one -> !busy.contains(one)).toList();
        });
    idle.forEach(CapturedPipeline::close);
  }

  /** Memory of a tensor is given back. */
  private void freed(Buffer buffer) {
    drop(replay -> replay.reads(buffer));
  }

  /** Gives back all memory that is not at work. */
  @Override
  public void makeRoom() {
    drop(replay -> !busy.contains(replay));
  }

  /** Forgets all that was seen. */
  @Override
  public void forget() {
    lock.lock();
    try {
      seen.clear();
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
