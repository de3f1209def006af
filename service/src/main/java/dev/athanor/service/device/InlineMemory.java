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
 * Host memory for the tensors that come and go within requests, all of them together: devices reach
 * it themselves, it is kept for the next, and there is a bound.
 */
public final class InlineMemory {

  /** Where a tensor may begin. */
  private static final long ALIGNMENT = 256;

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final DeviceRuntimes places;
  private final long most;
  private final double tenantShare;
  private final QuotaSettings quotas;
  private final AtomicLong used = new AtomicLong();

  /** Of tenants that have been here; there are no more of them than callers with credentials. */
  private final Map<Tenant, AtomicLong> usedBy = new ConcurrentHashMap<>();

  /** Memory by the side of devices. */
  public InlineMemory(DeviceRuntimes places, RunSettings settings, QuotaSettings quotas) {
    this.places = places;
    this.quotas = quotas;
    most = settings.inlineBytes().toBytes();
    tenantShare = settings.inlineTenantShare();
  }

  /** How many bytes requests have now. */
  public long used() {
    return used.get();
  }

  /** Memory for a new request of a tenant, of which it has none yet. */
  public RequestMemory open(Tenant tenant) {
    boolean shares = !tenant.equals(Tenant.LOCAL);
    return new Blocks(
        shares ? (long) (most * quotas.inlineShare(tenant, tenantShare)) : most,
        shares ? usedBy.computeIfAbsent(tenant, _ -> new AtomicLong()) : new AtomicLong());
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

    private final long limit;
    private final AtomicLong usedByTenant;
    private final AtomicInteger holders = new AtomicInteger(1);
    private final List<Block> blocks = new ArrayList<>();
    private long bytes;

    /**
     * @param limit how many bytes all requests of the tenant may have
     */
    private Blocks(long limit, AtomicLong usedByTenant) {
      this.limit = limit;
      this.usedByTenant = usedByTenant;
    }

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
        giveBack(block);
        throw busy(
            "the host has no %d bytes for the tensors of this request now; try again"
                .formatted(block));
      } catch (RuntimeException e) {
        giveBack(block);
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
      giveBack(size);
    }

    private void reserve(long block) {
      if (bytes + block > limit) {
        throw new Failure.Refused(
            Code.TOO_LARGE,
            "the tensors that come and go with this request take more than %d bytes, which is what there is for all requests%s; keep them on the device and send their handles"
                .formatted(limit, limit < most ? " of a tenant" : ""));
      }
      long own = usedByTenant.addAndGet(block);
      long all = used.addAndGet(block);
      if (own > limit || all > most) {
        giveBack(block);
        throw busy(
            own > limit
                ? "Other requests of this tenant take %d of the %d bytes that a tenant may have (athanor.run.inline-tenant-share). Retry after 1 s."
                    .formatted(own - bytes - block, limit)
                : "the tensors of other requests take %d of the %d bytes that there are for all; try again"
                    .formatted(all - bytes - block, most));
      }
    }

    private void giveBack(long size) {
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
