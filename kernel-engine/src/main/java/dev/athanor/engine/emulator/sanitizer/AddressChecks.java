package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Modifier.Space;

/** Checks that addresses stay within their variable, heap block or live thread block. */
final class AddressChecks {
  private final LaunchHistory launch;
  private final ClusterHistory history;
  private final int rank;

  /**
   * @param rank of the block that accesses
   */
  AddressChecks(ClusterHistory history, int rank) {
    this.launch = history.launch;
    this.history = history;
    this.rank = rank;
  }

  /** Reports addresses that were made from a variable's address and lie outside of it. */
  void checkVariable(Access access) {
    var extent = access.effect().extent();
    if (extent == null || access.isCopySource()) {
      return;
    }
    var request = access.request();
    for (int left = request.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (request.memory(lane).space() == extent.space()) {
        long offset = offsetInSpace(request, lane);
        if (offset < extent.start() || offset + request.bytes > extent.end()) {
          launch.report(
              access,
              lane,
              Kind.OUT_OF_BOUNDS,
              () -> launch.messages.beyond(extent, offset, request.bytes));
        }
      }
    }
  }

  /** Returns the offset of a lane; in local memory that in the memory of its own thread. */
  private long offsetInSpace(MemoryRequest request, int lane) {
    return request.memory(lane).space() == Space.LOCAL
        ? request.offsets[lane] - (32L * request.warp + lane) * launch.localBytes
        : request.offsets[lane];
  }

  /**
   * Reports addresses in the device heap that lie in no allocated block.
   *
   * @return the lanes with such addresses
   */
  int checkHeap(Access access) {
    var heap = launch.heap;
    int invalid = 0;
    if (heap == null) {
      return invalid;
    }
    var request = access.request();
    for (int left = request.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      long offset = request.offsets[lane];
      int bytes = request.bytes(lane);
      if (request.memories[lane] == heap.buffer() && heap.find(offset, bytes) == null) {
        invalid |= 1 << lane;
        var freed = heap.freed(offset);
        if (freed != null) {
          launch.report(
              access, lane, Kind.USE_AFTER_FREE, () -> launch.messages.freed(freed, offset));
        } else {
          var before = heap.before(offset);
          launch.report(
              access,
              lane,
              Kind.OUT_OF_BOUNDS,
              () -> launch.messages.beyond(before, offset, bytes));
        }
      }
    }
    return invalid;
  }

  /** Reports an access of lanes to the shared memory of a block whose threads have all exited. */
  void checkPeer(Access access, ClusterHistory.Shared shared, int lanes) {
    if (shared.rank() != rank && history.hasEnded(shared.rank())) {
      launch.report(
          access,
          Integer.numberOfTrailingZeros(lanes),
          Kind.PEER_ENDED,
          () -> launch.messages.ended(shared.rank()));
    }
  }

  /** Reports lanes that write over an mbarrier. */
  void checkMbarriers(Access access, ClusterHistory.Shared shared, int lanes) {
    if (!access.writes() || shared.mbarriers().isEmpty()) {
      return;
    }
    var request = access.request();
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (shared.mbarriers().overlaps(request.offsets[lane], request.bytes)) {
        launch.report(access, lane, Kind.MBARRIER_OVERWRITTEN, launch.messages::overMbarrier);
      }
    }
  }
}
