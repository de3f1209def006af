package dev.athanor.engine.lift;

import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.ptx.Source;

/**
 * A thread used an array index that is out of bounds, or divided an integer by zero. The thread
 * left the kernel there; other threads may have gone on, so the contents of written arrays are
 * undefined.
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
        site.array().equals(Site.DIVISION)
            ? "integer division by zero"
            : "index %d is out of bounds for `%s`, which has %d elements"
                .formatted(index, site.array(), length);
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

  /** Returns the line of Java; for a check in the library, the line that calls the library. */
  public Source source() {
    return source;
  }
}
