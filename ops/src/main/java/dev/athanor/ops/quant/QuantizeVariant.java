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
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * Kernels of {@link QuantizeOp}. Sizes are in vectors.
 *
 * @param out dtype of q: i8, e4m3 or e5m2
 * @param vector elements per access
 */
record QuantizeVariant(Pass pass, DType in, DType out, int vector) implements Variant {

  static final int THREADS = 256;

  /** Elements of a row that share a scale in {@link Pass#GROUPS}. */
  static final int GROUP = 128;

  /** The task of a launch. */
  enum Pass {
    /** A block finds the scale of a row and quantizes it: {@code x, q, scale, vectors}. */
    ROWS,
    /**
     * Some lanes find the scale of a group and quantize it: {@code x, q, scale, vectors, groups}.
     */
    GROUPS,
    /** A block finds the greatest magnitude of a part: {@code x, workspace, vectors, parts}. */
    GREATEST,
    /**
     * A block finds the greatest magnitude of all parts and quantizes its own: {@code x, workspace,
     * vectors, parts, q, scale}.
     */
    QUANTISE
  }

  @Override
  public String name() {
    var to = out == DType.I8 ? "" : "_" + out.text();
    return "quantize_%s_%s%s_v%d".formatted(Names.of(pass), in.text(), to, vector);
  }

  /** Returns the number of lanes per group. */
  int lanes() {
    return Math.min(KernelBuilder.WARP, GROUP / vector);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(
        name(),
        THREADS,
        k -> {
          switch (pass) {
            case ROWS -> writeRows(k);
            case GROUPS -> writeGroups(k);
            case GREATEST, QUANTISE -> writeParts(k);
          }
        });
  }

  private void writeRows(KernelBuilder k) {
    var x = k.input("x", Problems.type(in));
    var q = k.pointer("q", Elements.type(out));
    var scale = k.pointer("scale", Type.F32);
    var vectors = k.integer("vectors");
    var start = k.block().wide().times(vectors).times(vector);
    var greatest = k.variable(k.real(Type.F32, 0));
    each(k, x.plus(start), k.thread(), vectors, THREADS, (_, v) -> fold(greatest, v));
    var own = scale(greatest(k, greatest));
    k.when(k.thread().eq(0), () -> scale.store(k.block(), own));
    var to = q.plus(start);
    each(k, x.plus(start), k.thread(), vectors, THREADS, (at, v) -> store(k, to, at, v, own));
  }

  private void writeGroups(KernelBuilder k) {
    var x = k.input("x", Problems.type(in));
    var q = k.pointer("q", Elements.type(out));
    var scale = k.pointer("scale", Type.F32);
    var vectors = k.integer("vectors");
    var groups = k.integer("groups");
    int perGroup = GROUP / vector;
    var group = k.block().times(THREADS / lanes()).plus(k.thread().div(lanes()));
    var lane = k.thread().rem(lanes());
    // a row may end within its last group
    var perRow = vectors.plus(perGroup - 1).div(perGroup);
    var row = group.div(perRow);
    var first = group.minus(row.times(perRow)).times(perGroup).plus(lane);
    var exists = group.lt(groups);
    var start = row.wide().times(vectors.wide()).plus(first.wide()).times(vector);
    var greatest = k.variable(k.real(Type.F32, 0));
    var values = new ArrayList<List<Real>>();
    for (int i = 0; i < perGroup; i += lanes()) {
      var own =
          x.plus(start)
              .loadWhere(exists.and(first.plus(i).lt(vectors)), vector, k.integer(i * vector));
      values.add(own.stream().map(Value::widen).toList());
      fold(greatest, values.getLast());
    }
    var own = scale(k.reduceLanes(greatest, lanes(), Real::max));
    k.when(exists.and(lane.eq(0)), () -> scale.store(group, own));
    for (int i = 0; i < values.size(); i++) {
      int at = i * lanes();
      var each = values.get(i);
      k.when(
          exists.and(first.plus(at).lt(vectors)),
          () -> store(k, q.plus(start), k.integer(at), each, own));
    }
  }

  private void writeParts(KernelBuilder k) {
    var x = k.input("x", Problems.type(in));
    var workspace = k.pointer("workspace", Type.F32);
    var vectors = k.integer("vectors");
    var parts = k.integer("parts");
    var first = k.block().times(THREADS).plus(k.thread());
    var stride = parts.times(THREADS);
    var greatest = k.variable(k.real(Type.F32, 0));
    if (pass == Pass.GREATEST) {
      strided(k, x, first, vectors, stride, (_, v) -> fold(greatest, v));
      var own = greatest(k, greatest);
      k.when(k.thread().eq(0), () -> workspace.store(k.block(), own));
      return;
    }
    var q = k.pointer("q", Elements.type(out));
    var scale = k.pointer("scale", Type.F32);
    k.loop(
        k.thread(),
        parts,
        THREADS,
        part -> greatest.set(greatest.max(workspace.load(part).widen())));
    var own = scale(greatest(k, greatest));
    k.when(first.eq(0), () -> scale.store(k.integer(0), own));
    strided(k, x, first, vectors, stride, (at, v) -> store(k, q, at, v, own));
  }

  private void each(
      KernelBuilder k,
      GlobalPointer x,
      Int first,
      Int vectors,
      int stride,
      BiConsumer<Int, List<Real>> body) {
    strided(k, x, first, vectors, k.integer(stride), body);
  }

  /** Runs the body for every {@code stride}-th vector, starting at {@code first}. */
  private void strided(
      KernelBuilder k,
      GlobalPointer x,
      Int first,
      Int vectors,
      Int stride,
      BiConsumer<Int, List<Real>> body) {
    k.loop(
        first,
        vectors,
        stride,
        at -> {
          var source = x.plus(at.wide().times(vector));
          body.accept(at, source.load(vector, k.integer(0)).stream().map(Value::widen).toList());
        });
  }

  private static void fold(Real.Variable greatest, List<Real> values) {
    for (var value : values) {
      var magnitude = value.abs();
      var finite = magnitude.lt(Double.POSITIVE_INFINITY);
      greatest.set(greatest.max(magnitude.where(finite, magnitude.constant(0))));
    }
  }

  private static Real greatest(KernelBuilder k, Real ofThread) {
    return k.reduceBlock(List.of(ofThread), THREADS, 0, Real::max).getFirst();
  }

  private Real scale(Real greatest) {
    var scale =
        greatest
            .over(greatest.constant(Quantization.greatest(out)))
            .max(greatest.constant(QuantizeOp.LEAST_SCALE));
    return greatest.constant(0).where(greatest.eq(0), scale);
  }

  private void store(KernelBuilder k, GlobalPointer q, Int at, List<Real> values, Real scale) {
    var bytes = new ArrayList<Value>();
    if (out.isFloat()) {
      var elements = new Elements(k);
      // 0 / 0 would be NaN
      var divisor = scale.constant(1).where(scale.eq(0), scale);
      values.forEach(value -> bytes.add(elements.narrow(out, value.over(divisor))));
    } else {
      for (var value : values) {
        // clamp infinities, and quotients whose scale was rounded down
        var whole = value.over(scale).round();
        bytes.add(whole.min(k.integer(127)).max(k.integer(-127)).value());
      }
    }
    q.plus(at.wide().times(vector)).store(k.integer(0), bytes);
  }
}
