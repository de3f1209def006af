package dev.athanor.ops.map;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel of all ops that compute each element of a result from one element of each operand. A
 * thread computes {@link #DEPTH} vectors of the result and loads their operands first.
 *
 * <p>Parameters: the operands, the result, the constant operand if there is one, the number of
 * elements of the result; then the counts of the loops from the second to the innermost (the
 * innermost in vectors), and for each loop but the innermost its stride in elements of each
 * operand.
 *
 * @param constant whether the last operand is a scalar parameter
 * @param in dtype of the operands
 * @param out dtype of the result
 * @param conversion the conversion of results to {@code out}
 * @param rank number of nested {@link Loops}
 * @param along for each operand in memory, whether it advances along the innermost loop; otherwise
 *     it is repeated
 * @param vector number of elements per access. With one loop, the remainder is computed one by one;
 *     with several, it divides the innermost count
 */
record ElementwiseVariant(
    Formula formula,
    boolean constant,
    DType in,
    DType out,
    Conversion conversion,
    int rank,
    List<Boolean> along,
    int vector)
    implements Variant {

  static final int THREADS = 256;

  /** Vectors per thread, so that several loads are in flight. */
  static final int DEPTH = 2;

  ElementwiseVariant {
    along = List.copyOf(along);
  }

  /** Returns the maximum number of elements per access: 16 bytes of the wider of two dtypes. */
  static int widest(DType in, DType out) {
    return 16 / Math.max(in.bytes(), out.bytes());
  }

  /** Returns the number of blocks. */
  int blocks(long elements) {
    return Math.toIntExact(Math.ceilDiv(elements, (long) vector * THREADS * DEPTH));
  }

  /**
   * Returns a name such as {@code add_f16_v8} or, if b is repeated along the rows, {@code
   * add_f32_r2_an_v4}.
   */
  @Override
  public String name() {
    var name = new StringBuilder(formula.text());
    if (constant) {
      name.append("_constant");
    }
    name.append('_').append(in.text());
    if (out != in) {
      name.append('_').append(out.text());
    }
    name.append(conversion.suffix(out));
    if (rank > 1 || along.contains(false)) {
      name.append("_r").append(rank).append('_');
      along.forEach(a -> name.append(a ? 'a' : 'n'));
    }
    return name.append("_v").append(vector).toString();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  /** The stride of a loop in each operand, in elements. */
  private record Strides(List<Int> ofOperands) {

    List<GlobalPointer> advance(List<GlobalPointer> rows, Int steps) {
      var advanced = new ArrayList<GlobalPointer>();
      for (int o = 0; o < rows.size(); o++) {
        advanced.add(rows.get(o).row(steps, ofOperands.get(o)));
      }
      return advanced;
    }
  }

  /** The elements of an operand for a vector of the result: one each, or one for all. */
  private record OperandVector(List<Value> elements) {

    Value get(int i) {
      return elements.get(elements.size() == 1 ? 0 : i);
    }
  }

  /** The loaded operands of a vector of the result. */
  private record Loaded(Predicate inside, Int at, List<OperandVector> operands) {}

  private final class Writer {
    private final KernelBuilder k;
    private final Elements elements;
    private final List<GlobalPointer> operands = new ArrayList<>();
    private final GlobalPointer y;
    private final List<Real> constants;
    private final Int count;
    private final List<Int> counts = new ArrayList<>();

    /** The strides of each loop but the innermost. */
    private final List<Strides> strides = new ArrayList<>();

    Writer(KernelBuilder k) {
      this.k = k;
      elements = new Elements(k);
      for (int o = 0; o < along.size(); o++) {
        operands.add(k.pointer("x" + o, Elements.type(in)));
      }
      y = k.pointer("y", Elements.type(out));
      constants = constant ? List.of(k.real("factor", computed())) : List.of();
      count = k.integer("count");
      for (int l = 1; l < rank; l++) {
        counts.add(k.integer("count" + l));
      }
      for (int l = 0; l < rank - 1; l++) {
        var here = new ArrayList<Int>();
        for (int o = 0; o < along.size(); o++) {
          here.add(k.integer("stride%d_%d".formatted(l, o)));
        }
        strides.add(new Strides(here));
      }
    }

    private Type computed() {
      return in == DType.F64 ? Type.F64 : Type.F32;
    }

    void write() {
      var vectors = count.div(vector);
      var first = k.block().times(THREADS * DEPTH).plus(k.thread());
      var loaded = new ArrayList<Loaded>();
      for (int d = 0; d < DEPTH; d++) {
        var at = first.plus(d * THREADS);
        var inside = at.lt(vectors);
        loaded.add(new Loaded(inside, at, load(inside, at, vector)));
      }
      for (var each : loaded) {
        y.storeWhere(each.inside, each.at.times(vector), compute(each.operands, vector));
      }
      if (rank == 1 && vector > 1) {
        var left = vectors.times(vector).plus(k.block().times(THREADS)).plus(k.thread());
        var single = left.lt(count);
        k.when(single, () -> y.store(left, compute(load(single, left, 1), 1)));
      }
    }

    /** Loads the operands of the vector with index {@code at}. */
    private List<OperandVector> load(Predicate inside, Int at, int width) {
      var rows = operands;
      var rest = at;
      var column = at;
      for (int l = rank - 1; l > 0; l--) {
        var outer = rest.div(counts.get(l - 1));
        var step = rest.minus(outer.times(counts.get(l - 1)));
        if (l == rank - 1) {
          column = step;
        } else {
          rows = strides.get(l).advance(rows, step);
        }
        rest = outer;
      }
      if (rank > 1) {
        rows = strides.getFirst().advance(rows, rest);
      }
      var loaded = new ArrayList<OperandVector>();
      for (int o = 0; o < rows.size(); o++) {
        loaded.add(
            new OperandVector(
                along.get(o)
                    ? rows.get(o).loadWhere(inside, width, column.times(width))
                    : rows.get(o).loadWhere(inside, 1, k.integer(0))));
      }
      return loaded;
    }

    private List<Value> compute(List<OperandVector> loaded, int width) {
      var results = new ArrayList<Value>();
      for (int i = 0; i < width; i++) {
        int element = i;
        results.add(compute(loaded.stream().map(operand -> operand.get(element)).toList()));
      }
      return results;
    }

    private Value compute(List<Value> numbers) {
      if (formula.equals(Formula.IDENTITY)) {
        var only = numbers.getFirst();
        boolean moves = in == out && conversion.equals(Conversion.usual(out));
        return moves ? only : elements.narrow(out, elements.widen(in, only), conversion);
      }
      var x = new ArrayList<Real>();
      numbers.forEach(number -> x.add((Real) elements.widen(in, number)));
      x.addAll(constants);
      return elements.narrow(out, formula.apply(x), conversion);
    }
  }
}
