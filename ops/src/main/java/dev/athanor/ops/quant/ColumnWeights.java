package dev.athanor.ops.quant;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Weights {@code [K, N]} that are contiguous along N: int8, and int4 as packed by GPTQ and AWQ. A
 * thread decodes some columns of eight consecutive rows at once.
 */
public final class ColumnWeights {

  /** Rows of a patch: the weights in a word of GPTQ. */
  public static final int ROWS = 8;

  /** The maximum bytes of a load. */
  private static final int MAX_BYTES = 16;

  /** A memory layout of the elements. */
  public enum Format {
    INT8,
    GPTQ,
    AWQ;

    public static Format of(Int4Layout layout) {
      return switch (layout) {
        case GPTQ -> GPTQ;
        case AWQ -> AWQ;
        case K_PACKED -> throw new IllegalArgumentException("k-packed weights have no columns");
      };
    }

    /** Returns the number of columns per thread for rows of N, at most {@code most}. */
    public int columns(int n, int most) {
      return this == AWQ
          ? Math.max(Int4Layout.WORD, Math.min(most, Integer.lowestOneBit(n)))
          : Math.min(most, Integer.lowestOneBit(n));
    }
  }

  private final KernelBuilder k;
  private final Format format;
  private final GlobalPointer words;
  private final Int n;

  /**
   * Creates a view of weights in memory.
   *
   * @param words elements of type s8 or u32
   * @param n number of columns
   */
  public ColumnWeights(KernelBuilder k, Format format, GlobalPointer words, Int n) {
    this.k = k;
    this.format = format;
    this.words = words;
    this.n = n;
  }

  /**
   * Decodes the quants of {@code count} rows starting at {@code row} and {@code columns} columns
   * starting at {@code column}. Quants of int4 are unsigned.
   *
   * @param row a multiple of {@code count}
   * @param count number of rows; 8 for GPTQ
   * @param column a multiple of {@code columns}
   * @param limit end of the rows of int8. Rows from it on and columns beyond the last are not read
   *     and decode to zeros; for int4, all rows and columns must exist
   */
  public WeightPatch patch(Int row, int count, Int column, int columns, Int limit) {
    var weights = new ArrayList<Real>();
    switch (format) {
      case INT8 -> {
        for (int i = 0; i < count; i++) {
          var source = words.row(row.plus(i), n);
          var inside = row.plus(i).lt(limit).and(column.lt(n));
          weights.addAll(int8(source, column, columns, inside));
        }
      }
      case GPTQ -> {
        var source = words.row(row.div(Int4Layout.WORD), n);
        var byColumn = new ArrayList<Real>();
        for (int i = 0; i < columns; i += 4) {
          source
              .load(Math.min(4, columns), column.plus(i))
              .forEach(word -> byColumn.addAll(Quants.nibbles(k, word.integer(), 0)));
        }
        for (int i = 0; i < ROWS; i++) {
          for (int c = 0; c < columns; c++) {
            weights.add(byColumn.get(c * ROWS + i));
          }
        }
      }
      case AWQ -> {
        for (int i = 0; i < count; i++) {
          weights.addAll(awq(words.row(row.plus(i), n.div(Int4Layout.WORD)), column, columns, 0));
        }
      }
    }
    return new WeightPatch(columns, weights);
  }

  private List<Real> int8(GlobalPointer source, Int column, int columns, Predicate there) {
    if (columns == 1) {
      return List.of(source.loadWhere(there, column).widen());
    }
    var bytes = new ArrayList<Real>();
    if (columns == 2) {
      source.loadWhere(there, 2, column).forEach(b -> bytes.add(b.widen()));
      return bytes;
    }
    // with the sign bit flipped, signed bytes are unsigned bytes with a bias of 128
    source
        .as(Type.U32)
        .loadWhere(there, columns / 4, column.div(4))
        .forEach(
            word -> bytes.addAll(Quants.bytes(k, word.integer().xor(k.integer(0x80808080)), 128)));
    return bytes;
  }

  /** Returns nibbles of AWQ in column order, each minus {@code bias}. */
  private List<Real> awq(GlobalPointer source, Int column, int columns, int bias) {
    var ordered = new ArrayList<Real>();
    source
        .load(columns / Int4Layout.WORD, column.div(Int4Layout.WORD))
        .forEach(word -> {
          var nibbles = Quants.nibbles(k, word.integer(), bias);
          for (int i = 0; i < Int4Layout.WORD; i++) {
            ordered.add(nibbles.get(Int4Layout.AWQ.nibbleOfColumn(i)));
          }
        });
    return ordered;
  }

  /**
   * Returns the zero points of some columns of a group.
   *
   * @param zeros words of eight columns each
   * @param lessOne whether zero points are stored minus one
   */
  public List<Real> zeros(
      GlobalPointer zeros, boolean lessOne, Int group, Int column, int columns) {
    int bias = lessOne ? -1 : 0;
    var source = zeros.row(group, n.div(Int4Layout.WORD));
    if (format == Format.AWQ) {
      return awq(source, column, columns, bias);
    }
    var points = new ArrayList<Real>();
    for (int first = 0; first < columns; first += Int4Layout.WORD) {
      var word = source.load(column.plus(first).div(Int4Layout.WORD)).integer();
      var own = word.shr(column.rem(Int4Layout.WORD).times(4));
      points.addAll(Quants.nibbles(k, own, bias).subList(0, Math.min(columns, Int4Layout.WORD)));
    }
    return points;
  }

  /** Returns the zero points of a group if none are stored. */
  public List<Real> middles(int columns) {
    return Collections.nCopies(columns, k.real(Type.F32, Int4Layout.MIDDLE));
  }

  /** Returns the scales of some columns of a group. */
  public List<Real> scales(GlobalPointer scales, Int group, Int column, int columns) {
    var source = scales.row(group, n);
    var values = new ArrayList<Real>();
    int atOnce = Math.min(MAX_BYTES / scales.element().bytes(), columns);
    for (int i = 0; i < columns; i += atOnce) {
      source.load(atOnce, column.plus(i)).forEach(s -> values.add(s.widen()));
    }
    return values;
  }
}
