package dev.athanor.ops.linear.dense;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.Variant;
import java.util.ArrayList;

/**
 * Copies a matrix to rows padded with zeros to multiples of 16 bytes. Tensor-core kernels copy
 * aligned rows in 16-byte chunks, but unaligned rows element by element, in every block. One warp
 * copies a row. Parameters: {@code x, y, rows, columns, pitch}.
 *
 * @param bytes of an element: 1, 2 or 4
 */
record PadVariant(int bytes) implements Variant {

  static final int ALIGNMENT = 16;
  private static final int WARPS = 8;

  /** Loads in flight per lane. */
  private static final int UNROLL = 8;

  /** Returns the elements of a row in the copy. */
  static int pitch(int columns, int bytes) {
    int elements = ALIGNMENT / bytes;
    return Math.ceilDiv(columns, elements) * elements;
  }

  /** Returns the launch. */
  Step step(Slot x, Slot y, int rows, int columns) {
    return new Step(
        this,
        Dim3.of(Math.ceilDiv(rows, WARPS)),
        WARPS * KernelBuilder.WARP,
        0,
        Arguments.NONE
            .with("x", x)
            .with("y", y)
            .with("rows", rows)
            .with("columns", columns)
            .with("pitch", pitch(columns, bytes)));
  }

  @Override
  public String name() {
    return "pad_b%d".formatted(8 * bytes);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), WARPS * KernelBuilder.WARP, this::write);
  }

  private void write(KernelBuilder k) {
    var type = bytes == 4 ? Type.B32 : bytes == 2 ? Type.B16 : Type.U8;
    var x = k.input("x", type);
    var y = k.pointer("y", type);
    var rows = k.integer("rows");
    var columns = k.integer("columns");
    var pitch = k.integer("pitch");

    var row = k.block().times(WARPS).plus(k.warp());
    k.when(
        row.lt(rows),
        () -> {
          var from = x.row(row, columns);
          var to = y.row(row, pitch);
          k.loop(
              k.lane(),
              pitch,
              UNROLL * KernelBuilder.WARP,
              first -> {
                var loaded = new ArrayList<Value>();
                var inside = new ArrayList<Predicate>();
                for (int i = 0; i < UNROLL; i++) {
                  var column = first.plus(i * KernelBuilder.WARP);
                  inside.add(column.lt(pitch));
                  // zeros beyond the last column
                  loaded.add(from.loadWhere(column.lt(columns), column));
                }
                for (int i = 0; i < UNROLL; i++) {
                  to.storeWhere(inside.get(i), first.plus(i * KernelBuilder.WARP), loaded.get(i));
                }
              });
        });
  }
}
