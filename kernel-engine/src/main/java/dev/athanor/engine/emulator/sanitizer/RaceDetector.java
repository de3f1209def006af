package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Warps;
import org.jspecify.annotations.Nullable;

/**
 * Detects races of one block: looks up earlier accesses to the same bytes, in this launch and in
 * those that it may overlap, and records new ones.
 */
final class RaceDetector {
  private final LaunchHistory launch;
  private final ClusterHistory history;
  private final ConflictClassifier classifier;

  /** For each lane the key of its location in {@link ReleaseAcquire}. */
  private final long[] keys = new long[Warps.SIZE];

  /** Whether a thread of the block has waited for the previous grid. */
  private boolean awaitsGrid;

  /**
   * Whether one has let dependent launches begin, without knowing that the previous grid is over.
   */
  private boolean launchesEarly;

  private @Nullable Allocation lastBuffer;
  private GlobalShadow.@Nullable Pages lastPages;

  /**
   * @param rank of the block
   */
  RaceDetector(ClusterHistory history, int rank) {
    this.launch = history.launch;
    this.history = history;
    this.classifier = new ConflictClassifier(history, rank);
  }

  /** An asynchronous access begins, which {@link #shared} and {@link #global} show piecemeal. */
  void beginAsync() {
    classifier.forget();
  }

  /** Lanes access the shared memory of a block. */
  void shared(Access access, ClusterHistory.Shared shared, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      shared.shadow().access(access, Integer.numberOfTrailingZeros(left), classifier);
    }
  }

  /** Lanes access a buffer. */
  void global(Access access, Allocation buffer, int lanes) {
    launch.shadow.access(pages(buffer), access, lanes, classifier);
    if (launch.previous != null) {
      launch.previous.check(launch, history.clocks, access, buffer, lanes);
    }
  }

  /** A block begins. */
  void begin() {
    awaitsGrid = false;
    launchesEarly = false;
  }

  /** Lanes execute {@code griddepcontrol.wait}. */
  void awaitGrid(int warp, int lanes) {
    if (launch.previous != null && lanes != 0) {
      history.clocks.acquire(warp, lanes, history.live[warp], launch.previous.completion());
      awaitsGrid = true;
    }
  }

  /** Lanes execute {@code griddepcontrol.launch_dependents}. */
  void launchDependents(int warp, int lanes) {
    if (launch.previous != null) {
      for (int left = lanes; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        launchesEarly |= !launch.previous.isKnown(history.clocks, warp, lane);
      }
    }
  }

  /** All threads of the block have exited. */
  void end() {
    if (launch.previous != null && awaitsGrid) {
      launch.previous.awaitedByBlock(launchesEarly);
    }
  }

  private GlobalShadow.Pages pages(Allocation buffer) {
    var pages = lastPages;
    if (pages == null || lastBuffer != buffer) {
      pages = launch.shadow.of(buffer);
      lastPages = pages;
      lastBuffer = buffer;
    }
    return pages;
  }

  /** Returns whether an effect may belong to a release or acquire pattern. */
  boolean isOrdering(MemoryEffect effect) {
    return launch.releases
        && effect.strength() != AccessStamp.WEAK
        && effect.kind() == MemoryEffect.Kind.ACCESS;
  }

  /** Keeps other workers out of global memory until {@link #endOrdering}. */
  void beginOrdering(Access access) {
    var request = access.request();
    for (int left = request.mask; left != 0; left &= left - 1) {
      if (request.memories[Integer.numberOfTrailingZeros(left)] instanceof Allocation) {
        launch.strong.lock();
        return;
      }
    }
  }

  /** Lanes have made a strong access: acquires and releases. */
  void endOrdering(Access access) {
    try {
      findKeys(access);
      history.ordering.access(access, keys);
    } finally {
      if (launch.strong.isHeldByCurrentThread()) {
        launch.strong.unlock();
      }
    }
  }

  private void findKeys(Access access) {
    var request = access.request();
    for (int left = request.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var memory = request.memory(lane);
      keys[lane] =
          memory.space() == Space.SHARED
              ? ((long) history.shared(memory).rank() << 32) + request.offsets[lane]
              : request.address(lane);
    }
  }
}
