package dev.athanor.ops.quant;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Kernels that convert quantized numbers to f32, f16 or bf16; a thread converts a few neighbors.
 */
sealed interface DequantizeVariant extends Variant {

  /** Threads per block. */
  int THREADS = 256;

  /** Returns the dtype of the results. */
  DType out();

  @Override
  default Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  /** Writes the body of the kernel. */
  void write(KernelBuilder k);

  /** Returns the number of results per access of 16 bytes. */
  static int vector(DType out) {
    return 16 / out.bytes();
  }

  /** Returns the index of this thread in the grid. */
  private static Int thread(KernelBuilder k) {
    return k.block().times(THREADS).plus(k.thread());
  }

  /** Rounds numbers and stores them in accesses of at most 16 bytes. */
  static void store(GlobalPointer to, Int at, List<? extends Real> values) {
    int atOnce = Math.min(values.size(), 16 / to.element().bytes());
    for (int i = 0; i < values.size(); i += atOnce) {
      var rounded = new ArrayList<Value>();
      values.subList(i, i + atOnce).forEach(v -> rounded.add(v.to(to.element())));
      to.store(at.plus(i), rounded);
    }
  }

  /** Blocks of GGML or NF4: {@code x, y, parts}. A thread decodes a part of a block. */
  record Blocks(DType format, DType out) implements DequantizeVariant {

    /** Returns the number of weights of a run: what one access stores. */
    private int length() {
      return vector(out);
    }

    /** Returns the number of threads per block of the format. */
    int threadsPerBlock() {
      return BlockFormat.parts(format, length());
    }

    @Override
    public String name() {
      return "dequantize_%s_%s".formatted(format.text(), out.text());
    }

    @Override
    public void write(KernelBuilder k) {
      var x = k.input("x", Type.U8);
      var y = k.pointer("y", Problems.type(out));
      var parts = k.integer("parts");
      var decoder = new BlockFormat(k, format, false);
      k.when(
          thread(k).lt(parts),
          () -> {
            var block = thread(k).div(threadsPerBlock());
            var start = x.plus(block.wide().times(format.bytes()));
            var target = y.plus(block.wide().times(format.blockElements()));
            var bytes = BlockBytes.global(k, start, BlockFormat.alignment(format));
            for (var run : decoder.decode(bytes, thread(k).rem(threadsPerBlock()), length())) {
              store(target, run.first(), run.values());
            }
          });
    }
  }

  /**
   * Bytes: {@code x, scale, y, threads, rowLength}.
   *
   * @param scale dtype of the scale
   * @param perRow whether each row has its own scale
   * @param vector numbers per thread, all in one row
   */
  record Int8(DType scale, DType out, boolean perRow, int vector) implements DequantizeVariant {

    @Override
    public String name() {
      return "dequantize_i8_%s_%s%s_v%d"
          .formatted(out.text(), scale.text(), perRow ? "_rows" : "", vector);
    }

    @Override
    public void write(KernelBuilder k) {
      var x = k.input("x", Type.S8);
      var scales = k.input("scale", Problems.type(scale));
      var y = k.pointer("y", Problems.type(out));
      var threads = k.integer("threads");
      var rowLength = k.integer("rowLength");
      k.when(
          thread(k).lt(threads),
          () -> {
            var first = thread(k).wide().times(vector);
            var row = perRow ? first.div(rowLength.wide()).narrow() : k.integer(0);
            var factor = scales.load(row).widen();
            var values = new ArrayList<Real>();
            for (var q : x.plus(first).load(vector, k.integer(0))) {
              values.add(q.widen().times(factor));
            }
            store(y.plus(first), k.integer(0), values);
          });
    }
  }

  /**
   * E2M1 weights: {@code x, scale, y, threads, [tensorScale]}. A thread decodes a word.
   *
   * @param factor whether there is a scale of the tensor
   */
  record Fp4(Fp4Format format, boolean factor, DType out) implements DequantizeVariant {

    @Override
    public String name() {
      return "dequantize_%s_%s%s".formatted(format.text(), out.text(), factor ? "_scale" : "");
    }

    @Override
    public void write(KernelBuilder k) {
      var x = k.input("x", Type.U8);
      var scales = k.input("scale", Type.U8);
      var y = k.pointer("y", Problems.type(out));
      var threads = k.integer("threads");
      var tensorScale =
          factor ? Optional.of(k.input("tensorScale", Type.F32)) : Optional.<GlobalPointer>empty();
      k.when(
          thread(k).lt(threads),
          () -> {
            var bits = scales.load(thread(k).div(format.group() / Fp4Format.WORD)).integer();
            var scale = format.halfScale(k, bits);
            var values = new ArrayList<Real>();
            for (var q : Fp4Format.doubled(k, x.as(Type.U32).load(thread(k)).integer())) {
              var weight = q.times(scale);
              values.add(
                  tensorScale
                      .map(each -> weight.times(each.load(k.integer(0)).widen()))
                      .orElse(weight));
            }
            store(y.plus(thread(k).wide().times(Fp4Format.WORD)), k.integer(0), values);
          });
    }
  }

  private static String suffix(DType scale) {
    return scale == DType.F16 ? "" : "_s" + scale.text();
  }

  /**
   * Words packed along K: {@code packed, scales, y, threads, k, n} and those of {@link RowGroups}.
   * A thread decodes a word.
   *
   * @param indexed whether an input names the group of each row
   */
  record PackedAlongK(DType scale, DType out, boolean indexed) implements DequantizeVariant {

    @Override
    public String name() {
      return "dequantize_int4_%s%s%s"
          .formatted(out.text(), suffix(scale), indexed ? "_indexed" : "");
    }

    @Override
    public void write(KernelBuilder k) {
      var packed = k.input("packed", Type.U32);
      var scales = k.input("scales", Problems.type(scale));
      var y = k.pointer("y", Problems.type(out));
      var threads = k.integer("threads");
      var depth = k.integer("k");
      var n = k.integer("n");
      var groups = new RowGroups(k, indexed);
      k.when(
          thread(k).lt(threads),
          () -> {
            var words = depth.div(Int4Layout.WORD);
            var column = thread(k).div(words);
            var row = thread(k).minus(column.times(words)).times(Int4Layout.WORD);
            var factors = groups.ofRows(row, group -> scales.row(group, n).load(column).widen());
            var values = new ArrayList<Real>();
            for (var q : Quants.signedNibbles(k, packed.load(thread(k)).integer())) {
              var factor = factors.get(indexed ? values.size() : 0);
              values.add(factor.orZero().apply(q.times(factor.values())));
            }
            store(y.row(column, depth), row, values);
          });
    }
  }

  /**
   * Words of GPTQ or AWQ: {@code packed, scales, [zeros], y, threads, k, n} and those of {@link
   * RowGroups}. A thread decodes some columns of eight rows.
   *
   * @param indexed whether an input names the group of each row
   */
  record Columns(
      ColumnWeights.Format format,
      DType scale,
      DType out,
      boolean zeros,
      boolean lessOne,
      boolean indexed,
      int columns)
      implements DequantizeVariant {

    /** The scales and zero points of some columns of a group. */
    private record Group(List<Real> scales, List<Real> zeros) {}

    @Override
    public String name() {
      return "dequantize_%s_%s%s%s%s_v%d"
          .formatted(
              Names.of(format),
              out.text(),
              zeros ? lessOne ? "_zeros1" : "_zeros" : "",
              suffix(scale),
              indexed ? "_indexed" : "",
              columns);
    }

    @Override
    public void write(KernelBuilder k) {
      var packed = k.input("packed", Type.U32);
      var scales = k.input("scales", Problems.type(scale));
      var zeroPoints =
          zeros ? Optional.of(k.input("zeros", Type.U32)) : Optional.<GlobalPointer>empty();
      var y = k.pointer("y", Problems.type(out));
      var threads = k.integer("threads");
      var depth = k.integer("k");
      var n = k.integer("n");
      var rowGroups = new RowGroups(k, indexed);
      var weights = new ColumnWeights(k, format, packed, n);
      k.when(
          thread(k).lt(threads),
          () -> {
            var across = n.div(columns);
            var patchRow = thread(k).div(across);
            var column = thread(k).minus(patchRow.times(across)).times(columns);
            var row = patchRow.times(ColumnWeights.ROWS);
            var groups =
                rowGroups.ofRows(
                    row,
                    group ->
                        new Group(
                            weights.scales(scales, group, column, columns),
                            zeroPoints
                                .map(all -> weights.zeros(all, lessOne, group, column, columns))
                                .orElseGet(() -> weights.middles(columns))));
            var patch = weights.patch(row, ColumnWeights.ROWS, column, columns, depth);
            for (int i = 0; i < ColumnWeights.ROWS; i++) {
              var group = groups.get(indexed ? i : 0);
              var values = new ArrayList<Real>();
              for (int c = 0; c < columns; c++) {
                var quant = patch.get(i, c).minus(group.values().zeros.get(c));
                values.add(group.orZero().apply(quant.times(group.values().scales.get(c))));
              }
              store(y.row(row.plus(i), n), column, values);
            }
          });
    }
  }
}
