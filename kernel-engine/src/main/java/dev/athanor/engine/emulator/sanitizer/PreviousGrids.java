package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.sanitizer.clocks.SparseVectorClock;
import dev.athanor.engine.emulator.sanitizer.clocks.VectorClocks;
import java.util.List;
import java.util.stream.Stream;

/**
 * The launches that a dependent launch may overlap (PTX ISA 9.7.13.13), and what it tells a further
 * dependent launch about them.
 *
 * <p>{@code griddepcontrol.wait} waits until the previous grid has completed. Earlier grids have
 * then completed too, provided that a thread of the previous grid has waited for them in turn. The
 * completion is an agent of the {@link VectorClocks}: whatever is ordered after the wait of any
 * thread is ordered after the previous grid.
 */
final class PreviousGrids {

  /** Maximum number of launches that a chain without waits keeps for comparison. */
  private static final int MOST = 8;

  /** The memory that a launch has accessed, and the texts about it. */
  private record Grid(GlobalShadow shadow, SanitizerMessages messages) {}

  private final Grid last;

  /** The launches that may run before the wait, the last one first. */
  private final List<Grid> beforeWait;

  /** The launches that may run even after the wait. */
  private final List<Grid> afterWait;

  private final long agent;
  private final SparseVectorClock completion = new SparseVectorClock();

  /** Whether a thread has waited, so that this grid completes after the previous one. */
  private volatile boolean awaited;

  /** Whether dependent launches begin after a wait of this one. */
  private volatile boolean launchesAfterWait;

  private PreviousGrids(Grid last, List<Grid> beforeWait, List<Grid> afterWait, long agent) {
    this.last = last;
    this.beforeWait = beforeWait;
    this.afterWait = afterWait;
    this.agent = agent;
    completion.raise(agent, 1);
  }

  /**
   * Returns the launches that a dependent launch may overlap.
   *
   * @param earlier the previous launch, which has ended here
   * @param number of a new agent
   */
  static PreviousGrids after(LaunchHistory earlier, long number) {
    var last = new Grid(earlier.shadow, earlier.messages);
    var before = earlier.previous;
    var beforeStart =
        before == null
            ? List.<Grid>of()
            : before.launchesAfterWait ? before.afterWait : before.beforeWait;
    return new PreviousGrids(
        last,
        Stream.concat(Stream.of(last), beforeStart.stream()).limit(MOST).toList(),
        before == null ? List.of() : before.awaited ? before.afterWait : before.beforeWait,
        SparseVectorClock.agent(number));
  }

  /** Returns the clock that a wait acquires. */
  SparseVectorClock completion() {
    return completion;
  }

  /** Returns whether a thread knows that the previous grid has completed. */
  boolean isKnown(VectorClocks clocks, int warp, int lane) {
    return clocks.knows(warp, lane, agent) > 0;
  }

  /**
   * A block has ended, a thread of which has waited.
   *
   * @param launchesEarly whether a thread has let dependent launches begin without knowing that the
   *     previous grid has completed
   */
  void awaitedByBlock(boolean launchesEarly) {
    awaited = true;
    // dependent launches begin once each block has let them begin or has ended
    launchesAfterWait |= !launchesEarly;
  }

  /** Compares accesses to a buffer with those of the launches that may be running. */
  void check(
      LaunchHistory launch, VectorClocks clocks, Access access, Allocation buffer, int lanes) {
    if (launch.heap != null && launch.heap.buffer() == buffer) {
      return; // malloc and free order the uses of a block
    }
    var request = access.request();
    boolean strong = access.effect().strength() == AccessStamp.DEVICE;
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      boolean waited = isKnown(clocks, access.warp(), lane);
      for (var grid : waited ? afterWait : beforeWait) {
        var conflict =
            grid.shadow.conflict(
                buffer, request.offsets[lane], request.bytes(lane), access.writes(), strong);
        if (conflict != null) {
          int number = access.effect().number();
          launch.reports.add(
              Kind.GRID_NOT_AWAITED,
              number,
              number,
              access.block,
              () ->
                  launch.messages.previous(
                      access, lane, conflict, grid.messages, grid.equals(last), waited));
          break;
        }
      }
    }
  }
}
