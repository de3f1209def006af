package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.emulator.watch.ClusterObserver;
import dev.athanor.engine.emulator.watch.LaunchObserver;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.emulator.watch.Observer.Observed;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The sanitizer of a launch. */
public final class SanitizedLaunch implements LaunchObserver {
  private final LaunchHistory history;

  /**
   * @param races whether it detects races in addition to invalid memory and barrier use
   * @param ignored kinds that it does not report
   */
  public SanitizedLaunch(Observed observed, boolean races, Set<Report.Kind> ignored) {
    this(observed, races, ignored, null);
  }

  /**
   * @param races whether it detects races in addition to invalid memory and barrier use
   * @param ignored kinds that it does not report
   * @param previous the previous launch of the stream, if this one is dependent; null = none
   */
  public SanitizedLaunch(
      Observed observed,
      boolean races,
      Set<Report.Kind> ignored,
      @Nullable SanitizedLaunch previous) {
    this.history =
        new LaunchHistory(observed, races, ignored, previous == null ? null : previous.history);
  }

  @Override
  public ClusterObserver observeClusters() {
    return new Clusters(new ClusterHistory(history));
  }

  @Override
  public void listen(Consumer<Report> listener) {
    history.reports.listen(listener);
  }

  @Override
  public List<Report> reports() {
    return history.reports.all();
  }

  /** The sanitizer of the clusters of one worker. */
  static final class Clusters implements ClusterObserver {
    final ClusterHistory history;

    /** By rank. */
    private final List<BlockSanitizer> blocks;

    Clusters(ClusterHistory history) {
      this.history = history;
      this.blocks =
          IntStream.range(0, history.launch.geometry.blocks())
              .mapToObj(rank -> new BlockSanitizer(history, rank))
              .toList();
    }

    @Override
    public void ownsShared(int rank, Memory shared) {
      history.addShared(rank, shared);
    }

    @Override
    public Observer observer(int rank) {
      return blocks.get(rank);
    }

    @Override
    public AsyncObserver asyncObserver(int rank) {
      return blocks.get(rank).async();
    }
  }
}
