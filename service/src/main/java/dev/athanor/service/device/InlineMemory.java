package dev.athanor.service.device;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.schedule.SharedLimit;
import dev.athanor.service.schedule.TenantShares;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The pinned host memory for inline tensors of all requests. It is pooled, and tenants share its
 * limit.
 */
public final class InlineMemory {

  /** Alignment of tensors in bytes. */
  private static final long ALIGNMENT = 256;

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final DeviceRuntimes runtimes;
  private final SharedLimit limit;

  /** Creates inline memory in the host memory pools of the devices. */
  public InlineMemory(DeviceRuntimes runtimes, RunSettings settings, TenantShares shares) {
    this.runtimes = runtimes;
    limit = new SharedLimit(settings.inlineBytes().toBytes(), shares);
  }

  /** Returns the number of bytes in use. */
  public long used() {
    return limit.used();
  }

  /**
   * Opens memory for a new request. Nothing is allocated yet.
   *
   * @param account the account of the caller
   */
  public RequestMemory open(String account) {
    return new Blocks(account);
  }

  /**
   * Returns the block size for a number of bytes. Sizes are rounded up so that requests can reuse
   * blocks; except for small blocks, at most a quarter is wasted.
   */
  static long blockBytes(long bytes) {
    long step = Math.max(Long.highestOneBit(bytes) / 4, Staging.SMALL);
    return Math.ceilDiv(bytes, step) * step;
  }

  /** The memory of one request, in blocks that hold one or more tensors each. */
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

    private final String account;
    private final AtomicInteger holders = new AtomicInteger(1);
    private final List<Block> blocks = new ArrayList<>();
    private long bytes;

    private Blocks(String account) {
      this.account = account;
    }

    @Override
    public MemorySegment allocate(long wanted, long alignment) {
      if (holders.get() == 0) {
        throw new IllegalStateException("the memory of the request is closed");
      }
      long size = Math.ceilDiv(Math.max(wanted, 1), ALIGNMENT) * ALIGNMENT;
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
      var memory = runtimes.alive().memory();
      try {
        blocks.add(new Block(memory, memory.takeHost(block)));
      } catch (DeviceException.OutOfMemory e) {
        limit.remove(account, block);
        throw busy(
            "Out of host memory: %d bytes are not available for the inline tensors of this request. Retry after 1 s."
                .formatted(block));
      } catch (RuntimeException e) {
        limit.remove(account, block);
        throw e;
      }
      bytes += block;
      return blocks.getLast();
    }

    @Override
    public void release(MemorySegment unused) {
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
      block.from.releaseHost(block.memory);
      bytes -= size;
      limit.remove(account, size);
    }

    private void reserve(long block) {
      if (bytes + block > limit.most(account)) {
        throw new Failure.Refused(
            Code.TOO_LARGE,
            "Inline tensors exceed the limit of %d bytes (athanor.run.inline-bytes, athanor.quota.share); upload them and pass handles"
                .formatted(limit.most(account)));
      }
      if (!limit.tryAdd(account, block)) {
        throw busy(
            "Out of host memory: other requests use %d of %d bytes (athanor.run.inline-bytes), %d of them for this tenant (athanor.quota.share). Retry after 1 s."
                .formatted(limit.used() - bytes, limit.total(), limit.held(account) - bytes));
      }
    }

    private static Failure busy(String message) {
      return new Failure.Busy(Code.OUT_OF_HOST_MEMORY, message, RETRY_AFTER);
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
