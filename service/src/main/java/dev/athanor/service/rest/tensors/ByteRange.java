package dev.athanor.service.rest.tensors;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpRange;

/**
 * A range of the bytes of a body (RFC 9110, 14).
 *
 * @param first the position of the first byte
 * @param last the position of the last byte
 */
record ByteRange(long first, long last) {

  long length() {
    return last - first + 1;
  }

  /**
   * Parses a {@code Range} header. Headers that are malformed or ask for several ranges are
   * ignored, as the RFC allows.
   *
   * @param size the size of the body in bytes
   * @throws Failure.Refused with {@code range-not-satisfiable} if the range begins after the end
   */
  static Optional<ByteRange> of(@Nullable String header, long size) {
    var ranges = parse(header);
    if (ranges.size() != 1) {
      return Optional.empty();
    }
    var range = ranges.getFirst();
    long first = size == 0 ? 0 : range.getRangeStart(size);
    long last = size == 0 ? -1 : range.getRangeEnd(size);
    if (first > last) {
      throw new Failure.Refused(
          Code.RANGE_NOT_SATISFIABLE,
          "Range",
          "Range is %s, but the tensor has %d bytes"
              .formatted(Tensors.excerpt(String.valueOf(header)), size));
    }
    return Optional.of(new ByteRange(first, last));
  }

  private static List<HttpRange> parse(@Nullable String header) {
    try {
      return HttpRange.parseRanges(header);
    } catch (IllegalArgumentException e) {
      return List.of();
    }
  }
}
