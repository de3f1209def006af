package dev.athanor.engine.ptx;

/** A PTX ISA version, as in {@code .version}. */
public record Version(int major, int minor) implements Comparable<Version> {
  /**
   * Parses {@code 7.4}.
   *
   * @throws IllegalArgumentException if the text is not a version
   */
  public static Version of(String text) {
    var parts = text.split("\\.", -1);
    try {
      if (parts.length == 2) {
        return new Version(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]));
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("\"" + text + "\" is not a PTX version; write 7.4", e);
    }
    throw new IllegalArgumentException("\"" + text + "\" is not a PTX version; write 7.4");
  }

  @Override
  public int compareTo(Version other) {
    return major != other.major
        ? Integer.compare(major, other.major)
        : Integer.compare(minor, other.minor);
  }

  @Override
  public String toString() {
    return major + "." + minor;
  }
}
