package dev.athanor.ops.linear.quantized.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.quant.PairedNibbles;
import java.util.ArrayList;
import java.util.List;

/**
 * Rows of int8 weights along N. {@code ldmatrix.trans} gives a lane the weights of two adjacent
 * columns of c in pairs of rows of K. {@code prmt} inserts a pair into the mantissas of two
 * numbers:
 *
 * <ul>
 *   <li>In f16, bytes with flipped sign bits give 1152 plus the weight.
 *   <li>In bf16, whose mantissa has seven bits, the sign bit is the lowest bit of the exponent.
 *       Without it, the number is 128 plus the seven other bits; with it alone, 128, or 256 if the
 *       weight is negative. The weight is their difference.
 * </ul>
 *
 * <p>Both subtractions are exact.
 */
public record Int8Rows() implements StageWeights {

  /** The bytes that an instruction loads, of two steps along K. */
  private static final Fragment LOADED = Fragments.BYTE_PAIRS_32X16;

  @Override
  public int stageBytes() {
    return WeightTile.COLUMNS * WeightTile.DEPTH;
  }

  @Override
  public int readers() {
    return 1;
  }

  @Override
  public double instructions(Type element) {
    return element == Type.BF16 ? 5 : 3.5;
  }

  @Override
  public TensorMap tensor(int k, int n) {
    return TensorMap.of(
            Element.U8,
            List.of((long) n, (long) k),
            List.of(rowBytes(k, n)),
            List.of(WeightTile.COLUMNS, WeightTile.DEPTH))
        .withSwizzle(SwizzleMode.BYTES_128);
  }

  @Override
  public long rowBytes(int k, int n) {
    return n;
  }

  @Override
  public List<Int> at(Int depth, Int column) {
    return List.of(column, depth);
  }

  @Override
  public Lane lane(KernelBuilder k, Type element) {
    return new Lane(k, element);
  }

  /**
   * The part of a lane.
   *
   * @param element f16 or bf16
   */
  record Lane(KernelBuilder k, Type element) implements StageWeights.Lane {

    private static final int SIGNS = 0x8080_8080;
    private static final int SIGNS_OF_PAIR = 0x0080_0080;

    /** Returns the first column of the warp among those of the warpgroup. */
    private Int ofWarp() {
      return k.thread().rem(WarpRole.GROUP).div(KernelBuilder.WARP).times(LOADED.columns());
    }

    @Override
    public Int column() {
      return ofWarp().plus(new LaneCoordinates(LOADED.layout(), k.lane()).column());
    }

    @Override
    public int apart() {
      return 1;
    }

    @Override
    public List<Decoder> load(SharedTile shared, Int offset, Int group, List<Value> zeros) {
      var rows = shared.at(offset, Type.U8, WeightTile.DEPTH, WeightTile.COLUMNS);
      var first = group.times(WeightTile.OF_GROUP).plus(ofWarp());
      var decoders = new ArrayList<Decoder>();
      for (int from = 0; from < WeightTile.DEPTH; from += LOADED.rows()) {
        var words = rows.loadFragment(LOADED.layout(), k.lane(), k.integer(from), first);
        int perStep = StageWeights.STEP * words.size() / LOADED.rows();
        for (int word = 0; word < words.size(); word += perStep) {
          var ofStep = words.subList(word, word + perStep);
          decoders.add(() -> decode(ofStep));
        }
      }
      return decoders;
    }

    private MatrixFragment decode(List<Value> words) {
      var weights = new ArrayList<Value>();
      for (var word : words) {
        var bytes = element == Type.BF16 ? word.integer() : word.integer().xor(k.integer(SIGNS));
        for (int column = 0; column < 2; column++) {
          weights.add(weights(bytes, column));
        }
      }
      return new MatrixFragment(weights);
    }

    /** Returns the weights of a column in two rows. */
    private Value weights(Int bytes, int column) {
      boolean bf16 = element == Type.BF16;
      var exponents = k.integer(bf16 ? 0x4343_4343 : 0x6464_6464);
      // each byte of the column, below an exponent
      var selection = k.integer(0x4240 + 0x0101 * column);
      var pair =
          k.compute(
                  Type.B32,
                  "prmt.b32",
                  bytes.value().as(Type.B32),
                  exponents.value().as(Type.B32),
                  selection.value())
              .integer();
      var number = bf16 ? pair.and(~SIGNS_OF_PAIR) : pair;
      var zero = bf16 ? pair.and(~0x007F_007F) : k.integer(0x6480_6480);
      return PairedNibbles.difference(
          k, element, number.value().as(Type.B32), zero.value().as(Type.B32));
    }
  }
}
