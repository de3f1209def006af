package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifiers;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * The scale factors of one factor of a block-scaled {@code mma} (PTX ISA 9.7.14.3). A row of A or a
 * column of B has one scale factor per block of elements along K.
 */
final class ScaleFactors {

  /** Rows of words: the scale factors, byte-id and thread-id. */
  static final int WORDS = 3;

  private static final int BYTES = 4;

  /** Elements that share a scale factor, unless four factors are given. */
  private static final int BLOCK = 32;

  private final String name;
  private final int blocks;
  private final int columns;
  private final NumberFormat format;
  private final NumberTile scales;

  /** For each element of the fragment's matrix the lane and byte that hold it, as one number. */
  private final int[] holders;

  /**
   * @param name name of the scaled matrix
   * @param fragment bytes that the lanes hold
   * @param blocks number of scale factors of a row: 1, 2 or 4
   */
  private ScaleFactors(String name, Fragment fragment, int blocks, NumberFormat format) {
    this.name = name;
    this.blocks = blocks;
    this.columns = fragment.columns();
    this.format = format;
    this.scales = new NumberTile(fragment.rows(), blocks, format.minExponent());
    this.holders = fragment.layout().inverse().table();
  }

  /** Returns the scale factors of A and of B of an instruction; empty if it has none. */
  static List<ScaleFactors> of(Modifiers modifiers) {
    if (!modifiers.has("block_scale")) {
      return List.of();
    }
    int blocks = modifiers.has("scale_vec::4X") ? 4 : MatrixShape.of(modifiers).k() / BLOCK;
    var format = NumberFormat.of(modifiers.types().getLast());
    return List.of(
        new ScaleFactors("A", Fragments.SCALES_A, blocks, format),
        new ScaleFactors("B", Fragments.SCALES_B, blocks, format));
  }

  /** Returns A with these scale factors. */
  NumberTile scaleRows(NumberTile a, int depth) {
    return scale(a, at -> at / depth * blocks + at % depth * blocks / depth);
  }

  /** Returns B with these scale factors. */
  NumberTile scaleColumns(NumberTile b, int depth) {
    int n = b.values().length / depth;
    return scale(b, at -> at % n * blocks + at / n * blocks / depth);
  }

  private NumberTile scale(NumberTile factor, IntUnaryOperator scaleOf) {
    var all = new int[factor.values().length];
    Arrays.setAll(all, scaleOf);
    return factor.scaledBy(scales, all);
  }

  /**
   * Reads the scale factors.
   *
   * @param first row of the scale factors in {@code sources}
   * @throws IllegalArgumentException if the manual does not define the selector
   */
  void read(int[][] sources, int first) {
    int byteId = uniform(sources[first + 1], "byte");
    int threadId = uniform(sources[first + 2], "thread");
    if (byteId >= BYTES || byteId % blocks != 0 || threadId >= columns / BYTES) {
      throw new IllegalArgumentException(
          ("the selector of the scale factors of %s is {%d, %d}; with .scale_vec::%dX, byte-id is a"
                  + " multiple of %d below 4 and thread-id is at most %d")
              .formatted(name, byteId, threadId, blocks, blocks, columns / BYTES - 1));
    }
    var values = scales.values();
    for (int i = 0; i < values.length; i++) {
      int holder = holders[i / blocks * columns + BYTES * threadId + byteId + i % blocks];
      values[i] = format.value(sources[first][holder / BYTES] >>> (8 * (holder % BYTES)));
    }
  }

  private int uniform(int[] ids, String what) {
    for (int lane = 1; lane < ids.length; lane++) {
      if ((short) ids[lane] != (short) ids[0]) {
        throw new IllegalArgumentException(
            "the %s-id of %s is %d, but %d in lane 0; all threads must give the same"
                .formatted(what, name, ids[lane] & 0xFFFF, ids[0] & 0xFFFF));
      }
    }
    return ids[0] & 0xFFFF;
  }
}
