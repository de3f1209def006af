package dev.athanor.service.rest.tensors;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.transfer.Transfers;
import jakarta.servlet.http.HttpServletRequest;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The preconditions of a request that changes a tensor (RFC 9110, section 13).
 *
 * @param ifMatch the header {@code If-Match}; null if absent
 * @param ifNoneMatch the header {@code If-None-Match}; null if absent
 */
record Preconditions(@Nullable String ifMatch, @Nullable String ifNoneMatch) {

  static Preconditions of(HttpServletRequest request) {
    return new Preconditions(request.getHeader("If-Match"), request.getHeader("If-None-Match"));
  }

  /** Whether there are none. */
  boolean isEmpty() {
    return ifMatch == null && ifNoneMatch == null;
  }

  /**
   * Checks the current version.
   *
   * @param version the version; empty if the tensor does not exist any more
   * @throws Failure.Refused with {@code version-mismatch}
   */
  void check(OptionalLong version) {
    if (version.isEmpty()) {
      if (ifMatch != null) {
        throw new Failure.Refused(
            Code.VERSION_MISMATCH, "If-Match", "If-Match is given, but the tensor does not exist");
      }
      return;
    }
    long current = version.getAsLong();
    if (!ETags.allows(ifMatch, current)) {
      throw Transfers.mismatch(current);
    }
    if (ETags.forbids(ifNoneMatch, current)) {
      throw new Failure.Refused(
          Code.VERSION_MISMATCH,
          "If-None-Match",
          "If-None-Match matches the current version %d of the tensor, so it is not changed"
              .formatted(current));
    }
  }
}
