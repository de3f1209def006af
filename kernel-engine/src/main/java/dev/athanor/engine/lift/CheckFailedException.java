package dev.athanor.engine.lift;

import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.ptx.Source;

/**
 * A thread used an array index that is out of bounds, divided an integer by zero, or clamped a
 * number to bounds that are not in order. The thread left the kernel there; other threads may have
 * gone on, so the contents of written arrays are undefined.
 */
public final class CheckFailedException extends RuntimeException {
  private final transient Source source;

  private CheckFailedException(String message, Source source) {
    super(message);
    this.source = source;
  }

  static CheckFailedException of(
      String kernel, Site site, long index, long length, int[] thread, int[] block) {
    var what =
        switch (site.kind()) {
          case DIVISION -> "integer division by zero";
          case CLAMP -> "Math.clamp needs min <= max, and no NaN";
          case ELEMENTS -> outside(site, "index", "indices", index, length, "elements");
          case BYTES -> outside(site, "byte", "bytes", index, length, "bytes");
        };
    var origin = site.source().origin();
    return new CheckFailedException(
        "%s: %s, in thread (%d, %d, %d) of block (%d, %d, %d) of %s"
            .formatted(
                site.source(),
                what,
                thread[0],
                thread[1],
                thread[2],
                block[0],
                block[1],
                block[2],
                kernel),
        origin == null ? site.source() : origin);
  }

  private static String outside(
      Site site, String one, String several, long first, long length, String unit) {
    var accessed =
        site.count() == 1
            ? "%s %d is".formatted(one, first)
            : "%s %d to %d are".formatted(several, first, first + site.count() - 1);
    return "%s out of bounds for `%s`, which has %d %s"
        .formatted(accessed, site.array(), length, unit);
  }

  /** Returns the line of Java; for a check in the library, the line that calls the library. */
  public Source source() {
    return source;
  }
}
