package dev.athanor.ops.attention.backward;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.attention.FlashVariant;

/**
 * A kernel that computes the sum of {@code grad · out} of each query, which the gradient of the
 * softmax subtracts. One warp per query; parameters {@code grad, out, delta, queries, dv}.
 *
 * @param access bytes per load
 */
record DeltaVariant(DType dtype, int access) implements Variant {

  static final int THREADS = 128;

  /** Queries per block. */
  static final int QUERIES = THREADS / KernelBuilder.WARP;

  @Override
  public String name() {
    return "attention_backward_delta_%s_a%d".formatted(dtype.text(), access);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var type = FlashVariant.type(dtype);
    var grad = k.input("grad", type);
    var out = k.input("out", type);
    var delta = k.pointer("delta", Type.F32);
    var queries = k.integer("queries");
    var dv = k.integer("dv");
    int together = access / dtype.bytes();
    var query = k.block().times(QUERIES).plus(k.warp());
    k.when(
        query.lt(queries),
        () -> {
          var sum = k.variable(k.real(Type.F32, 0));
          k.loop(
              k.lane().times(together),
              dv,
              KernelBuilder.WARP * together,
              column -> {
                var a = grad.row(query, dv).load(together, column);
                var b = out.row(query, dv).load(together, column);
                for (int i = 0; i < together; i++) {
                  sum.addProduct(a.get(i).widen(), b.get(i).widen());
                }
              });
          var all = k.reduceLanes(sum, KernelBuilder.WARP, Real::plus);
          delta.storeWhere(k.lane().eq(0), query, all);
        });
  }
}
