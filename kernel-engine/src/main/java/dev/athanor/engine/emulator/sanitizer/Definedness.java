package dev.athanor.engine.emulator.sanitizer;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.DefinedBytes;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Tracks which bytes of memory are defined, and reports the use of undefined ones. */
final class Definedness {
  private final LaunchHistory launch;
  private final ClusterHistory history;

  /** The local memory of the block. */
  private final DefinedBytes local;

  /** For each lane of a {@code cp.async} the defined bytes of its source. */
  private final long[] copied = new long[Warps.SIZE];

  Definedness(ClusterHistory history) {
    this.launch = history.launch;
    this.history = history;
    this.local = new DefinedBytes(32L * launch.geometry.warps() * launch.localBytes);
    Arrays.fill(copied, -1);
  }

  /** A block begins. */
  void begin() {
    local.clear();
  }

  /** Returns the defined bytes of a memory; null = all of them are. */
  @Nullable DefinedBytes of(Memory memory) {
    return memory instanceof Allocation buffer
        ? buffer.defined()
        : switch (memory.space()) {
          case SHARED -> history.shared(memory).defined();
          case LOCAL -> local;
          default -> null; // the launch fills the others
        };
  }

  /** Reports undefined bytes that an access reads, and defines those that it writes. */
  void check(Access access) {
    var request = access.request();
    boolean copy = access.effect().kind() == MemoryEffect.Kind.COPY;
    Memory last = null;
    DefinedBytes defined = null;
    for (int left = request.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var memory = requireNonNull(request.memories[lane]);
      if (memory != last) {
        last = memory;
        defined = of(memory);
      }
      if (defined == null) {
        continue;
      }
      if (request.kind() != MemoryRequest.Kind.STORE) {
        read(access, lane, defined, copy);
      }
      if (request.kind() != MemoryRequest.Kind.LOAD) {
        write(request, lane, defined, copy);
      }
    }
    if (copy && request.kind() != MemoryRequest.Kind.LOAD) {
      // the read of the next copy may be missing, if it is of nothing
      Arrays.fill(copied, -1);
    }
  }

  private void read(Access access, int lane, DefinedBytes defined, boolean copy) {
    int bytes = access.request().bytes(lane);
    long found = defined.of(access.request().offsets[lane], bytes);
    if (copy) {
      // undefined bytes are copied and reported when they are used
      copied[lane] = found | ~DefinedBytes.ones(bytes);
    } else if (found != DefinedBytes.ones(bytes)) {
      launch.report(
          access, lane, Kind.UNINITIALISED, () -> launch.messages.undefined(found, bytes));
    }
  }

  private void write(MemoryRequest request, int lane, DefinedBytes defined, boolean copy) {
    long offset = request.offsets[lane];
    int bytes = request.bytes(lane);
    if (copy) {
      defined.unset(offset, bytes);
      defined.setAll(offset, copied[lane] & DefinedBytes.ones(bytes));
    } else {
      defined.set(offset, bytes);
    }
  }
}
