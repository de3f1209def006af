package dev.athanor.service.tensor;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.time.Duration;

/** The quota of a tenant and how much of it is in use; guarded by the store's monitor. */
final class TenantQuota {

  private static final Duration RETRY = Duration.ofSeconds(10);

  private final long maxBytes;
  private final int maxCount;
  private long bytes;
  private int count;

  /**
   * @param maxBytes the quota in bytes
   * @param maxCount the quota in tensors
   */
  TenantQuota(long maxBytes, int maxCount) {
    this.maxBytes = maxBytes;
    this.maxCount = maxCount;
  }

  long maxBytes() {
    return maxBytes;
  }

  int maxCount() {
    return maxCount;
  }

  /** Returns the bytes in use. */
  long bytes() {
    return bytes;
  }

  /** Returns the number of tensors in use. */
  int count() {
    return count;
  }

  /** Whether the quota does not suffice. */
  boolean exceeds(long moreBytes, int moreCount) {
    return moreBytes > maxBytes - bytes || moreCount > maxCount - count;
  }

  /**
   * Charges a tensor.
   *
   * @throws Failure.Busy with {@code quota-exceeded}
   */
  void take(long moreBytes) {
    if (!tryTake(moreBytes)) {
      throw new Failure.Busy(
          Code.QUOTA_EXCEEDED,
          ("Quota exceeded by %s: %d of %d bytes and %d of %d tensors"
                  + " are in use. Delete tensors or let their leases end.")
              .formatted(
                  count >= maxCount
                      ? "another tensor"
                      : "a tensor of %d bytes".formatted(moreBytes),
                  bytes,
                  maxBytes,
                  count,
                  maxCount),
          RETRY);
    }
  }

  /** Charges a tensor if the quota suffices, and returns whether it does. */
  boolean tryTake(long moreBytes) {
    if (exceeds(moreBytes, 1)) {
      return false;
    }
    bytes += moreBytes;
    count++;
    return true;
  }

  /**
   * Changes the size of a charged tensor.
   *
   * @throws Failure.Busy with {@code quota-exceeded}
   */
  void resize(long before, long now) {
    refund(before); // so that the error message does not count this tensor
    try {
      take(now);
    } catch (Failure e) {
      bytes += before;
      count++;
      throw e;
    }
  }

  /** Ends the charge of a tensor. */
  void refund(long fewerBytes) {
    bytes -= fewerBytes;
    count--;
  }
}
