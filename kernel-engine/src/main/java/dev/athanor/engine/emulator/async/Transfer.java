package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * An asynchronous copy or reduction. It reads its source first and writes its target later; until
 * then the target of a copy is poisoned.
 */
final class Transfer extends PendingOperation {
  private final Block block;
  private final Instruction instruction;
  private final int lane;
  private final TransferEndpoint source;
  private final TransferEndpoint target;
  private final MemorySegment bytes;
  private final TransferEndpoint.@Nullable Reduction reduction;
  private final @Nullable Mbarrier barrier;
  private final AsyncObserver.@Nullable Signal signal;
  private boolean isRead;

  /**
   * @param lane the issuing thread
   * @param size in bytes
   * @param reduction combines the bytes with the target; null = overwrite
   * @param barrier is signaled; null = none
   * @param signal notified before the barrier; null = none
   */
  Transfer(
      Block block,
      Instruction instruction,
      int lane,
      TransferEndpoint source,
      TransferEndpoint target,
      int size,
      TransferEndpoint.@Nullable Reduction reduction,
      @Nullable Mbarrier barrier,
      AsyncObserver.@Nullable Signal signal) {
    this.block = block;
    this.instruction = instruction;
    this.lane = lane;
    this.source = source;
    this.target = target;
    this.bytes = MemorySegment.ofArray(new long[Math.ceilDiv(size, Long.BYTES)]).asSlice(0, size);
    this.reduction = reduction;
    this.barrier = barrier;
    this.signal = signal;
  }

  /** Reads the source unless it has been read. */
  void read() {
    if (!isRead) {
      isRead = true;
      source.read(bytes);
    }
  }

  @Override
  void perform() {
    read();
    if (reduction == null) {
      target.write(bytes);
    } else {
      target.combine(bytes, reduction);
    }
    block.stored();
    if (barrier != null) {
      if (signal != null) {
        signal.done();
      }
      if (!barrier.isIntact()) {
        throw block.fault(
            Kind.MBARRIER_OVERWRITTEN,
            lane,
            instruction,
            "something was stored over %s".formatted(barrier));
      }
      var violation = barrier.complete(bytes.byteSize());
      if (violation != null) {
        throw block.fault(Kind.MBARRIER_BYTES, lane, instruction, violation);
      }
    }
  }

  @Override
  void delay() {
    if (reduction == null) {
      GlobalMemory.poison(bytes);
      target.write(bytes);
    }
  }

  /** A transfer that has read its source is certain to write. */
  @Override
  void end() {
    if (isRead) {
      finish();
    }
  }
}
