package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Weights of which each column of the product has a row along K: blocks of GGML, and int4 packed
 * along K. A row is cut into parts that a thread decodes at once.
 */
final class RowWeights {

  private final KernelBuilder k;
  private final ProjectionParameters problem;
  private final Packing packing;
  private final int length;
  private final Optional<BlockFormat> format;

  /**
   * Describes the weights of a block's product.
   *
   * @param length of a run, see {@link #lengths}
   */
  RowWeights(KernelBuilder k, ProjectionParameters problem, Packing packing, int length) {
    this.k = k;
    this.problem = problem;
    this.packing = packing;
    this.length = length;
    this.format =
        packing instanceof Packing.Block(var dtype)
            ? Optional.of(new BlockFormat(k, dtype))
            : Optional.empty();
  }

  /** The longest run of a part that rows of {@code depth} weights are whole numbers of. */
  static int longestRun(Packing packing, int depth) {
    return packing instanceof Packing.Block(var dtype)
        ? BlockFormat.longestRun(dtype)
        : Math.min(32, Integer.lowestOneBit(depth));
  }

  /** The weights of a part whose runs have a length. */
  static int part(Packing packing, int length) {
    return packing instanceof Packing.Block(var dtype) ? length * BlockFormat.runs(dtype) : length;
  }

  /** The bytes of consecutive parts, which are whole blocks. */
  static int bytes(DType format, int parts, int length) {
    return parts * part(new Packing.Block(format), length) / format.blockElements() * format.bytes();
  }

  /** The number of the parts of a row. */
  Int parts() {
    return problem.depth.div(part(packing, length));
  }

  /** Decodes a part of a row from global memory. */
  List<Run> decode(Int row, Int part) {
    return switch (packing) {
      case Packing.Block(var dtype) -> {
        int perBlock = BlockFormat.parts(dtype, length);
        var blocksOfRow = problem.depth.div(dtype.blockElements()).wide();
        var block = part.div(perBlock);
        var index = blocksOfRow.times(row).plus(block.wide());
        var start = problem.weights.plus(index.times(dtype.bytes()));
        var bytes = BlockBytes.global(k, start, BlockFormat.alignment(dtype));
        yield inRow(dtype, block, decoder().decode(bytes, part.rem(perBlock), length));
      }
      case Packing.AlongK _ -> {
        var first = part.times(length);
        var words = problem.weights.row(row, problem.depth.div(Int4Layout.WORD));
        var group = first.shr(problem.groupShift);
        var scale = problem.scales.row(group, problem.n).load(row).widen();
        var runs = new ArrayList<Run>();
        int i = 0;
        for (Value word : words.load(length / Int4Layout.WORD, first.div(Int4Layout.WORD))) {
          runs.add(
              new Run(
                  first.plus(i++ * Int4Layout.WORD),
                  Quants.signedNibbles(k, word.integer()),
                  scale,
                  Optional.empty()));
        }
        yield runs;
      }
      case Packing.AlongN _ -> throw new IllegalArgumentException(packing.text());
    };
  }

  /**
   * Decodes a part of a row, of which consecutive parts lie in shared memory.
   *
   * @param start the byte of the array where they begin
   * @param first the number of the first of them, which begins a block
   */
  List<Run> decode(SharedTile array, Int start, Int first, Int part) {
    var dtype = ((Packing.Block) packing).format();
    int perBlock = BlockFormat.parts(dtype, length);
    var within = part.minus(first);
    var from = start.plus(within.div(perBlock).times(dtype.bytes()));
    // what 16 bytes were copied to begins where they did within 16 bytes of global memory
    var bytes = BlockBytes.shared(k, array, from, BlockFormat.alignment(dtype));
    var runs = decoder().decode(bytes, within.rem(perBlock), length);
    return inRow(dtype, part.div(perBlock), runs);
  }

  private BlockFormat decoder() {
    return format.orElseThrow();
  }

  private static List<Run> inRow(DType dtype, Int block, List<Run> runs) {
    var first = block.times(dtype.blockElements());
    return runs.stream()
        .map(run -> new Run(first.plus(run.first()), run.quants(), run.scale(), run.offset()))
        .toList();
  }
}
