package dev.athanor.service.rest;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A part of a body, by RFC 9110, 14.
 *
 * @param first the first byte
 * @param last the last one
 */
record ByteRange(long first, long last) {

  private static final Pattern SINGLE = Pattern.compile("bytes=\\s*(\\d{0,18})-(\\d{0,18})\\s*");

  long length() {
    return last - first + 1;
  }

  /**
   * Reads a {@code Range} header. What is not one range in bytes is ignored, as the RFC allows:
   * then all is sent.
   *
   * @param size the size of the whole
   * @throws Failure.Refused with {@code range-not-satisfiable} when the range lies beyond the end
   */
  static Optional<ByteRange> of(@Nullable String header, long size) {
    var m = header == null ? null : SINGLE.matcher(header);
    if (m == null || !m.matches() || (m.group(1).isEmpty() && m.group(2).isEmpty())) {
      return Optional.empty();
    }
    if (m.group(1).isEmpty()) {
      long suffix = Long.parseLong(m.group(2));
      if (suffix == 0) {
        throw beyond(m.group(), size);
      }
      return Optional.of(new ByteRange(Math.max(size - suffix, 0), size - 1));
    }
    long first = Long.parseLong(m.group(1));
    long last = m.group(2).isEmpty() ? Long.MAX_VALUE : Long.parseLong(m.group(2));
    if (last < first) {
      return Optional.empty();
    }
    if (first >= size) {
      throw beyond(m.group(), size);
    }
    return Optional.of(new ByteRange(first, Math.min(last, size - 1)));
  }

  private static Failure beyond(String header, long size) {
    return new Failure.Refused(
        Code.RANGE_NOT_SATISFIABLE,
        "Range",
        "Range is %s, but the tensor has %d bytes".formatted(Tensors.excerpt(header), size));
  }
}
