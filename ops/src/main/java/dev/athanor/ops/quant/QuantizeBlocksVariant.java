package dev.athanor.ops.quant;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.List;

/**
 * A kernel that quantizes numbers to blocks of 32: {@code x, q, blocks}. A thread encodes a part of
 * a block.
 */
record QuantizeBlocksVariant(DType format, DType in) implements Variant {

  static final int THREADS = 256;

  /** Returns the number of numbers of a run: what one access loads. */
  private int length() {
    return 16 / in.bytes();
  }

  /** Returns the number of threads per block of the format. */
  int threadsPerBlock() {
    return BlockFormat.parts(format, length());
  }

  @Override
  public String name() {
    return "quantize_%s_%s".formatted(format.text(), in.text());
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(
        name(),
        THREADS,
        k -> {
          var x = k.input("x", Problems.type(in));
          var q = k.pointer("q", Type.U8);
          var blocks = k.integer("blocks");
          var block =
              k.block().times(THREADS / threadsPerBlock()).plus(k.thread().div(threadsPerBlock()));
          var part = k.thread().rem(threadsPerBlock());
          var exists = block.lt(blocks);
          var numbers = x.plus(block.wide().times(format.blockElements()));
          var first = BlockFormat.first(format, part, length());
          var runs = new ArrayList<List<Real>>();
          for (int run = 0; run < BlockFormat.runs(format); run++) {
            var at = first.plus(run * BlockFormat.apart(format));
            runs.add(numbers.loadWhere(exists, length(), at).stream().map(Value::widen).toList());
          }
          new BlockEncoder(k, BlockRule.of(format), part, runs)
              .store(q.plus(block.wide().times(format.bytes())), exists);
        });
  }
}
