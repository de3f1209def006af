package dev.athanor.ops.indexing;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Wide;
import dev.athanor.ops.DType;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;

/**
 * The part of a kernel that evaluates a {@link Lookup}.
 *
 * @param index dtype of the index: i32 or i64
 * @param rank number of nested loops
 * @param repeats whether the outer of two loops repeats the index
 * @param components numbers that name a slice
 */
record LookupCode(DType index, int rank, boolean repeats, int components) {

  static LookupCode of(DType index, Lookup lookup) {
    return new LookupCode(
        index, lookup.loops().rank(), lookup.repeats(), lookup.components().size());
  }

  /** Returns the part of a kernel's name that identifies this code. */
  String text() {
    return "%s_r%d%s_k%d".formatted(index.text(), rank, repeats ? "_repeated" : "", components);
  }

  /**
   * A slice.
   *
   * @param valid whether the index is in range
   * @param slice its number; undefined if the index is out of range
   */
  record Found(Predicate valid, Wide slice) {}

  /** The declared parameters. */
  static final class Parameters {
    private final KernelBuilder k;
    private final GlobalPointer indices;
    private final boolean repeats;
    private final List<Int> counts = new ArrayList<>();
    private final List<Wide> strides = new ArrayList<>();
    private final List<Wide> extents = new ArrayList<>();
    private final List<Wide> steps = new ArrayList<>();

    private Parameters(KernelBuilder k, LookupCode code) {
      this.k = k;
      repeats = code.repeats;
      indices = k.input("index", Elements.type(code.index));
      for (int l = 1; l < code.rank; l++) {
        counts.add(k.integer("count" + l));
      }
      for (int l = 0; l < code.rank; l++) {
        strides.add(k.wide("stride" + l));
      }
      for (int c = 0; c < code.components; c++) {
        extents.add(k.wide("extent" + c));
        steps.add(k.wide("step" + c));
      }
    }

    /**
     * Returns the slice that a position names. Negative numbers count from the end.
     *
     * @param inside whether the position exists
     */
    Found find(Predicate inside, Int position) {
      var slice = k.wide(0);
      var rest = position;
      var named = position;
      for (int l = strides.size() - 1; l > 0; l--) {
        var outer = rest.div(counts.get(l - 1));
        var step = rest.minus(outer.times(counts.get(l - 1)));
        slice = slice.plus(strides.get(l).times(step));
        named = repeats ? step : named;
        rest = outer;
      }
      slice = slice.plus(strides.getFirst().times(rest));
      var valid = inside;
      var row = indices.row(named, k.integer(extents.size()));
      for (int c = 0; c < extents.size(); c++) {
        var extent = extents.get(c);
        var given = row.loadWhere(inside, k.integer(c)).wide();
        var at = given.where(given.ge(k.wide(0)), given.plus(extent));
        valid = valid.and(at.ge(k.wide(0))).and(at.lt(extent));
        slice = slice.plus(at.times(steps.get(c)));
      }
      return new Found(valid, slice);
    }
  }

  /** Declares the parameters of {@link Lookup#arguments}. */
  Parameters declare(KernelBuilder k) {
    return new Parameters(k, this);
  }
}
