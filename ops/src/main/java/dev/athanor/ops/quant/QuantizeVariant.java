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
import java.util.function.BiConsumer;

/**
 * Kernels of quantize-int8. Sizes are in vectors.
 *
 * @param vector elements per access
 */
record QuantizeVariant(Pass pass, DType in, int vector) implements Variant {

  static final int THREADS = 256;

  /** The task of a launch. */
  enum Pass {
    /** A block finds the scale of a row and quantizes it: {@code x, q, scale, vectors}. */
    ROWS,
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
    return "quantize_%s_%s_v%d".formatted(Names.of(pass), in.text(), vector);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(
        name(),
        THREADS,
        k -> {
          if (pass == Pass.ROWS) {
            writeRows(k);
          } else {
            writeParts(k);
          }
        });
  }

  private void writeRows(KernelBuilder k) {
    var x = k.input("x", Problems.type(in));
    var q = k.pointer("q", Type.S8);
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
    var q = k.pointer("q", Type.S8);
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

  private static Real scale(Real greatest) {
    var scale =
        greatest.over(greatest.constant(127)).max(greatest.constant(QuantizeInt8.LEAST_SCALE));
    return greatest.constant(0).where(greatest.eq(0), scale);
  }

  private void store(KernelBuilder k, GlobalPointer q, Int at, List<Real> values, Real scale) {
    var bytes = new ArrayList<Value>();
    for (var value : values) {
      // clamp infinities, and quotients whose scale was rounded down
      var whole = value.over(scale).round();
      bytes.add(whole.min(k.integer(127)).max(k.integer(-127)).value());
    }
    q.plus(at.wide().times(vector)).store(k.integer(0), bytes);
  }
}
