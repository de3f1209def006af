package dev.athanor.ops.tile;

/**
 * The interleaving of the rows and columns of a warp's sums. If interleaved, the first of two
 * fragments of eight has the even ones of 16, the second the odd ones; see {@link Stage}.
 */
public record Interleaving(boolean rows, boolean columns) {

  /** Returns the part of a kernel's name. */
  String text() {
    return (rows ? "_ir" : "") + (columns ? "_ic" : "");
  }
}
