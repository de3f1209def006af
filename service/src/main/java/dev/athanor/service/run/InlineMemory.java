package dev.athanor.service.run;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Host memory for the tensors that come and go within requests, all of them together: devices reach
 * it themselves, it is kept for the next, and there is a bound.
 */
public final class InlineMemory {

  /** Where a tensor may begin. */
  private static final long ALIGNMENT = 256;

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final Places places;
  private final long most;
  private final AtomicLong used = new AtomicLong();

  /** Memory by the side of devices. */
  public InlineMemory(Places places, RunSettings settings) {
    this.places = places;
    most = settings.inlineBytes().toBytes();
  }

  /** How many bytes requests have now. */
  public long used() {
    return used.get();
  }

  /** Memory for a new request, of which it has none yet. */
  public RequestMemory open() {
    return new Blocks();
  }

  /**
   * The size of a block for some bytes. Few sizes are many requests' in common; a block is at most
   * a quarter too large, unless it is a small one.
   */
  static long blockBytes(long bytes) {
    long step = Math.max(Long.highestOneBit(bytes) / 4, Staging.SMALL);
    return Math.ceilDiv(bytes, step) * step;
  }

  /** That of one request, in blocks that tensors share where they fit. */
  final class Blocks implements RequestMemory {

    private static final class Block {
      final DeviceMemory from;
      final HostMemory memory;
      long taken;
      int tensors;

      Block(DeviceMemory from, HostMemory memory) {
        this.from = from;
        this.memory = memory;
      }

      long left() {
        return memory.segment().byteSize() - taken;
      }

      MemorySegment take(long size) {
        tensors++;
        taken += size;
        return memory.segment().asSlice(taken - size, size);
      }
    }

    private final AtomicInteger holders = new AtomicInteger(1);
    private final List<Block> blocks = new ArrayList<>();
    private long bytes;

    @Override
    public MemorySegment allocate(long wanted, long alignment) {
      if (holders.get() == 0) {
        throw new IllegalStateException("the memory of a request was closed");
      }
      long size = Math.ceilDiv(wanted, ALIGNMENT) * ALIGNMENT;
      return blocks.stream()
          .filter(block -> block.left() >= size)
          .findFirst()
          .orElseGet(() -> add(size))
          .take(size)
          .asSlice(0, wanted);
    }

    private Block add(long size) {
      long block = blockBytes(size);
      reserve(block);
      var memory = places.alive().memory();
      try {
        blocks.add(new Block(memory, memory.takeHost(block)));
      } catch (DeviceException.OutOfMemory e) {
        used.addAndGet(-block);
        throw busy(
            "the host has no %d bytes for the tensors of this request now; try again"
                .formatted(block));
      } catch (RuntimeException e) {
        used.addAndGet(-block);
        throw e;
      }
      bytes += block;
      return blocks.getLast();
    }

    @Override
    public void giveBack(MemorySegment unused) {
      blocks.stream()
          .filter(block -> block.tensors == 1)
          .filter(block -> block.memory.segment().address() == unused.address())
          .findFirst()
          .ifPresent(block -> {
            blocks.remove(block);
            release(block);
          });
    }

    private void release(Block block) {
      long size = block.memory.segment().byteSize();
      block.from.giveBackHost(block.memory);
      bytes -= size;
      used.addAndGet(-size);
    }

    private void reserve(long block) {
      if (bytes + block > most) {
        throw new Failure.Refused(
            Code.TOO_LARGE,
            "the tensors that come and go with this request take more than %d bytes, which is what there is for all requests; keep them on the device and send their handles"
                .formatted(most));
      }
      long others = used.addAndGet(block) - bytes - block;
      if (others + bytes + block > most) {
        used.addAndGet(-block);
        throw busy(
            "the tensors of other requests take %d of the %d bytes that there are for all; try again"
                .formatted(others, most));
      }
    }

    private static Failure busy(String message) {
      return new Failure.Busy(Code.QUEUE_FULL, message, RETRY_AFTER);
    }

    @Override
    public RequestMemory hold() {
      holders.incrementAndGet();
      return this;
    }

    @Override
    public void close() {
      if (holders.decrementAndGet() == 0) {
        blocks.forEach(this::release);
        blocks.clear();
      }
    }
  }
}
