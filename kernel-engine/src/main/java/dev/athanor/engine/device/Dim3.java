package dev.athanor.engine.device;

/** The extents of a grid in blocks or of a block in threads. */
public record Dim3(int x, int y, int z) {

  public Dim3 {
    if (x < 1 || y < 1 || z < 1) {
      throw new IllegalArgumentException(
          "every extent must be at least 1, got %dx%dx%d".formatted(x, y, z));
    }
  }

  public static Dim3 of(int x) {
    return new Dim3(x, 1, 1);
  }

  public static Dim3 of(int x, int y) {
    return new Dim3(x, y, 1);
  }

  /** Returns the number of blocks or threads, saturated to a long. */
  public long count() {
    long plane = (long) x * y;
    return plane > Long.MAX_VALUE / z ? Long.MAX_VALUE : plane * z;
  }

  @Override
  public String toString() {
    return x + "x" + y + "x" + z;
  }
}
