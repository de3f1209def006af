package dev.athanor.ops.tile;

/**
 * Whether the rows and the columns of a warp's sums are interleaved: of 16, the first fragment of
 * eight has the even ones and the second the odd ones, see {@link Stage}.
 */
public record Interleaving(boolean rows, boolean columns) {

  /** Returns the part of a kernel's name. */
  String text() {
    return (rows ? "_ir" : "") + (columns ? "_ic" : "");
  }
}
