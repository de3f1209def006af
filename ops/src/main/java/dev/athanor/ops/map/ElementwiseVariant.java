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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The kernel of all ops that compute each element of a result from one element of each operand. A
 * thread computes {@link #DEPTH} vectors of the result and loads their operands first.
 *
 * <p>Parameters: the operands, the result, the constant operand if there is one, the number of
 * elements of the result; then the counts of the loops from the second to the innermost (the
 * innermost in vectors), for each loop but the innermost its stride in elements of each operand and
 * of a strided result, and the strides of the innermost loop where they are neither 0 nor 1.
 *
 * @param constant whether the last operand is a scalar parameter
 * @param in dtype of the operands
 * @param last dtype of the last operand in memory
 * @param out dtype of the result
 * @param conversion the conversion of results to {@code out}
 * @param rank number of nested {@link Loops}
 * @param along how each operand in memory advances along the innermost loop
 * @param result how a strided result advances along the innermost loop; empty if it is dense
 * @param vector number of elements per access; 1 if anything is {@link Advance#STRIDED}. With one
 *     loop, the remainder is computed one by one; with several, it divides the innermost count
 */
record ElementwiseVariant(
    Formula formula,
    boolean constant,
    DType in,
    DType last,
    DType out,
    Conversion conversion,
    int rank,
    List<Advance> along,
    Optional<Advance> result,
    int vector)
    implements Variant {

  static final int THREADS = 256;

  /** Vectors per thread, so that several loads are in flight. */
  static final int DEPTH = 2;

  /** The stride of an operand or a result in the innermost loop. */
  enum Advance {
    /** Its elements are contiguous: stride 1. */
    CONTIGUOUS('a'),
    /** One element is repeated: stride 0. */
    REPEATED('n'),
    /** Any other stride, which is a parameter. */
    STRIDED('s');

    private final char letter;

    Advance(char letter) {
      this.letter = letter;
    }

    static Advance of(long stride) {
      return stride == 1 ? CONTIGUOUS : stride == 0 ? REPEATED : STRIDED;
    }
  }

  ElementwiseVariant {
    along = List.copyOf(along);
  }

  /** Returns the maximum number of elements per access: 16 bytes of the widest of some dtypes. */
  static int widest(DType... dtypes) {
    return 16 / Stream.of(dtypes).mapToInt(DType::bytes).max().orElse(1);
  }

  /** Returns the dtype of an operand in memory. */
  private DType in(int operand) {
    return operand == along.size() - 1 ? last : in;
  }

  /** Returns the number of blocks. */
  int blocks(long elements) {
    return Math.toIntExact(Math.ceilDiv(elements, (long) vector * THREADS * DEPTH));
  }

  /**
   * Returns a name such as {@code add_f16_v8} or, if b is repeated along the rows, {@code
   * add_f32_r2_an_v4}; {@code copy_i32_r2_a_to_a_v4} has a strided result.
   */
  @Override
  public String name() {
    var name = new StringBuilder(formula.text());
    if (constant) {
      name.append("_constant");
    }
    name.append('_').append(in.text());
    if (last != in) {
      name.append('_').append(last.text());
    }
    if (out != in) {
      name.append('_').append(out.text());
    }
    name.append(conversion.suffix(out));
    boolean contiguous = along.stream().allMatch(a -> a == Advance.CONTIGUOUS);
    if (rank > 1 || !contiguous || result.isPresent()) {
      name.append("_r").append(rank).append(along.isEmpty() ? "" : "_");
      along.forEach(a -> name.append(a.letter));
      result.ifPresent(a -> name.append("_to_").append(a.letter));
    }
    return name.append("_v").append(vector).toString();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  /** The stride of a loop in each operand and in a strided result, in elements. */
  private record Strides(List<Int> ofPointers) {

    List<GlobalPointer> advance(List<GlobalPointer> rows, Int steps) {
      var advanced = new ArrayList<GlobalPointer>();
      for (int p = 0; p < rows.size(); p++) {
        advanced.add(rows.get(p).row(steps, ofPointers.get(p)));
      }
      return advanced;
    }
  }

  /** The address of an element or a vector. */
  private record ElementAddress(GlobalPointer row, Int index) {}

  /** The elements of an operand for a vector of the result: one each, or one for all. */
  private record OperandVector(List<Value> elements) {

    Value get(int i) {
      return elements.get(elements.size() == 1 ? 0 : i);
    }
  }

  /** The loaded operands of a vector of the result, and its address in a strided result. */
  private record Loaded(
      Predicate inside, Int at, Optional<ElementAddress> address, List<OperandVector> operands) {}

  private final class Writer {
    private final KernelBuilder k;
    private final Elements elements;

    /** The operands, followed by a strided result. */
    private final List<GlobalPointer> pointers = new ArrayList<>();

    private final GlobalPointer y;
    private final List<Real> constants;
    private final Optional<Value> fill;
    private final Int count;
    private final List<Int> counts = new ArrayList<>();

    /** The strides of each loop but the innermost. */
    private final List<Strides> strides = new ArrayList<>();

    /** The strides of the innermost loop, for each pointer that is strided. */
    private final Map<Integer, Int> innermost = new HashMap<>();

    Writer(KernelBuilder k) {
      this.k = k;
      elements = new Elements(k);
      for (int o = 0; o < along.size(); o++) {
        pointers.add(k.pointer("x" + o, Elements.type(in(o))));
      }
      y = k.pointer("y", Elements.type(out));
      if (result.isPresent()) {
        pointers.add(y);
      }
      boolean fills = formula.equals(Formula.FILL);
      constants = constant && !fills ? List.of(k.real("factor", computed())) : List.of();
      fill = fills ? Optional.of(fillValue()) : Optional.empty();
      count = k.integer("count");
      for (int l = 1; l < rank; l++) {
        counts.add(k.integer("count" + l));
      }
      for (int l = 0; l < rank - 1; l++) {
        var here = new ArrayList<Int>();
        for (int p = 0; p < pointers.size(); p++) {
          here.add(k.integer(Loops.strideName(l, p)));
        }
        strides.add(new Strides(here));
      }
      for (int p = 0; p < pointers.size(); p++) {
        if (advance(p) == Advance.STRIDED) {
          innermost.put(p, k.integer(Loops.strideName(rank - 1, p)));
        }
      }
    }

    private Advance advance(int pointer) {
      return pointer < along.size() ? along.get(pointer) : result.orElseThrow();
    }

    private Value fillValue() {
      return out == DType.I64
          ? k.wide("value").value()
          : elements.narrow(out, k.integer("value").value());
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
        loaded.add(load(inside, at, vector));
      }
      for (var each : loaded) {
        var address = each.address.orElseGet(() -> new ElementAddress(y, each.at.times(vector)));
        address.row.storeWhere(each.inside, address.index, compute(each.operands, vector));
      }
      if (rank == 1 && vector > 1) {
        var left = vectors.times(vector).plus(k.block().times(THREADS)).plus(k.thread());
        var single = left.lt(count);
        k.when(single, () -> y.store(left, compute(load(single, left, 1).operands, 1)));
      }
    }

    /** Loads the operands of the vector with index {@code at}. */
    private Loaded load(Predicate inside, Int at, int width) {
      var rows = pointers;
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
      for (int o = 0; o < along.size(); o++) {
        int count = along.get(o) == Advance.CONTIGUOUS ? width : 1;
        var address = address(o, rows.get(o), column, width);
        loaded.add(new OperandVector(address.row.loadWhere(inside, count, address.index)));
      }
      return new Loaded(
          inside,
          at,
          result.isPresent()
              ? Optional.of(address(along.size(), rows.getLast(), column, width))
              : Optional.empty(),
          loaded);
    }

    /** Returns the address of a step of the innermost loop in the row of a pointer. */
    private ElementAddress address(int pointer, GlobalPointer row, Int column, int width) {
      return switch (advance(pointer)) {
        case CONTIGUOUS -> new ElementAddress(row, column.times(width));
        case REPEATED -> new ElementAddress(row, k.integer(0));
        case STRIDED -> {
          var stride = Objects.requireNonNull(innermost.get(pointer));
          yield new ElementAddress(row.row(column, stride), k.integer(0));
        }
      };
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
      if (fill.isPresent()) {
        return fill.get();
      }
      if (formula.equals(Formula.IDENTITY)) {
        var only = numbers.getFirst();
        boolean moves = in == out && conversion.equals(Conversion.usual(out));
        return moves ? only : elements.narrow(out, elements.widen(in, only), conversion);
      }
      var x = new ArrayList<Real>();
      for (int o = 0; o < numbers.size(); o++) {
        x.add((Real) elements.widen(in(o), numbers.get(o)));
      }
      x.addAll(constants);
      return elements.narrow(out, formula.apply(x), conversion);
    }
  }
}
