package dev.athanor.service.device;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.QuotaSettings;
import dev.athanor.service.tensor.Tenant;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The pinned host memory for inline tensors of all requests. It is pooled and limited, in total and
 * per tenant.
 */
public final class InlineMemory {

  /** Alignment of tensors in bytes. */
  private static final long ALIGNMENT = 256;

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final DeviceRuntimes runtimes;
  private final long totalLimit;
  private final double tenantShare;
  private final QuotaSettings quotas;
  private final AtomicLong used = new AtomicLong();

  /** Bytes in use per tenant; bounded by the number of configured callers. */
  private final Map<Tenant, AtomicLong> usedBy = new ConcurrentHashMap<>();

  /** Creates inline memory in the host memory pools of the devices. */
  public InlineMemory(DeviceRuntimes runtimes, RunSettings settings, QuotaSettings quotas) {
    this.runtimes = runtimes;
    this.quotas = quotas;
    totalLimit = settings.inlineBytes().toBytes();
    tenantShare = settings.inlineTenantShare();
  }

  /** Returns the number of bytes in use. */
  public long used() {
    return used.get();
  }

  /** Opens memory for a new request of a tenant. Nothing is allocated yet. */
  public RequestMemory open(Tenant tenant) {
    boolean shares = !tenant.equals(Tenant.LOCAL);
    return new Blocks(
        shares ? (long) (totalLimit * quotas.inlineShare(tenant, tenantShare)) : totalLimit,
        shares ? usedBy.computeIfAbsent(tenant, _ -> new AtomicLong()) : new AtomicLong());
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

    private final long limit;
    private final AtomicLong usedByTenant;
    private final AtomicInteger holders = new AtomicInteger(1);
    private final List<Block> blocks = new ArrayList<>();
    private long bytes;

    /**
     * @param limit maximum number of bytes for all requests of the tenant
     */
    private Blocks(long limit, AtomicLong usedByTenant) {
      this.limit = limit;
      this.usedByTenant = usedByTenant;
    }

    @Override
    public MemorySegment allocate(long wanted, long alignment) {
      if (holders.get() == 0) {
        throw new IllegalStateException("the memory of the request is closed");
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
      var memory = runtimes.alive().memory();
      try {
        blocks.add(new Block(memory, memory.takeHost(block)));
      } catch (DeviceException.OutOfMemory e) {
        unreserve(block);
        throw busy(
            "Out of host memory: %d bytes are not available for the inline tensors of this request. Retry after 1 s."
                .formatted(block));
      } catch (RuntimeException e) {
        unreserve(block);
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
      unreserve(size);
    }

    private void reserve(long block) {
      if (bytes + block > limit) {
        throw new Failure.Refused(
            Code.TOO_LARGE,
            "Inline tensors exceed the limit of %d bytes (%s); upload them and pass handles"
                .formatted(
                    limit,
                    limit < totalLimit
                        ? "athanor.run.inline-tenant-share"
                        : "athanor.run.inline-bytes"));
      }
      long own = usedByTenant.addAndGet(block);
      long all = used.addAndGet(block);
      if (own > limit || all > totalLimit) {
        unreserve(block);
        throw busy(
            own > limit
                ? "Out of host memory: other requests of this tenant use %d of the %d bytes that a tenant may use (athanor.run.inline-tenant-share). Retry after 1 s."
                    .formatted(own - bytes - block, limit)
                : "Out of host memory: other requests use %d of %d bytes (athanor.run.inline-bytes). Retry after 1 s."
                    .formatted(all - bytes - block, totalLimit));
      }
    }

    private void unreserve(long size) {
      usedByTenant.addAndGet(-size);
      used.addAndGet(-size);
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
