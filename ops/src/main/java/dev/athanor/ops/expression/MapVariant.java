package dev.athanor.ops.expression;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;
import dev.athanor.ops.map.Loops;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel of an expression. A thread computes {@code depth} vectors of the result and loads
 * their operands first.
 *
 * <p>Parameters: the operands, the result, the literals, the number of elements of the result; then
 * the counts of the loops from the second to the innermost (the innermost in vectors), and for each
 * loop but the innermost its stride in elements of each operand.
 *
 * @param rank number of nested loops
 * @param along for each operand, whether it advances along the innermost loop; otherwise it is
 *     repeated
 * @param vector number of elements per access. With one loop, the remainder is computed one by one;
 *     with several, it divides the innermost count
 */
record MapVariant(Program program, int rank, List<Boolean> along, int vector, int depth)
    implements Variant {

  static final int THREADS = 256;

  MapVariant {
    along = List.copyOf(along);
  }

  /** Returns the number of blocks. */
  int blocks(long elements) {
    return Math.toIntExact(Math.ceilDiv(elements, (long) vector * THREADS * depth));
  }

  /** Returns a name such as {@code map_0123456789abcdef_r2_an_v4_d2}. */
  @Override
  public String name() {
    var name = new StringBuilder("map_").append(program.hash());
    if (rank > 1 || along.contains(false)) {
      name.append("_r").append(rank).append('_');
      along.forEach(a -> name.append(a ? 'a' : 'n'));
    }
    return name.append("_v").append(vector).append("_d").append(depth).toString();
  }

  @Override
  public boolean isDefinedByRequest() {
    return true;
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  /** The loaded operands of a vector: the elements of each, or the only one that is repeated. */
  private record Loaded(Predicate inside, Int at, List<List<Value>> operands) {}

  private final class Writer {
    private final KernelBuilder k;
    private final List<GlobalPointer> operands = new ArrayList<>();
    private final GlobalPointer y;
    private final Emitter constants;
    private final Int count;
    private final List<Int> counts = new ArrayList<>();

    /** The strides of each loop but the innermost, of each operand. */
    private final List<List<Int>> strides = new ArrayList<>();

    Writer(KernelBuilder k) {
      this.k = k;
      for (int o = 0; o < along.size(); o++) {
        operands.add(k.pointer("x" + o, Elements.type(program.inputs().get(o))));
      }
      y = k.pointer("y", Elements.type(program.output()));
      constants = new Emitter(k, program);
      var code = program.code();
      for (int i = 0; i < code.size(); i++) {
        if (code.get(i).function() == Function.LITERAL) {
          constants.literal(i, parameter("c" + code.get(i).index(), code.get(i).dtype()));
        }
      }
      count = k.integer("count");
      for (int l = 1; l < rank; l++) {
        counts.add(k.integer("count" + l));
      }
      for (int l = 0; l < rank - 1; l++) {
        var here = new ArrayList<Int>();
        for (int o = 0; o < along.size(); o++) {
          here.add(k.integer(Loops.strideName(l, o)));
        }
        strides.add(here);
      }
    }

    private Value parameter(String name, DType dtype) {
      return switch (dtype) {
        case F64, F32, F16, BF16 -> k.real(name, MapPlanner.computed(dtype));
        case I64 -> k.wide(name).value();
        default -> k.integer(name).value().as(Integers.type(dtype));
      };
    }

    void write() {
      var vectors = count.div(vector);
      var first = k.block().times(THREADS * depth).plus(k.thread());
      var loaded = new ArrayList<Loaded>();
      for (int d = 0; d < depth; d++) {
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
    private List<List<Value>> load(Predicate inside, Int at, int width) {
      var rows = operands;
      var rest = at;
      var column = at;
      for (int l = rank - 1; l > 0; l--) {
        var outer = rest.div(counts.get(l - 1));
        var step = rest.minus(outer.times(counts.get(l - 1)));
        if (l == rank - 1) {
          column = step;
        } else {
          rows = advance(rows, step, strides.get(l));
        }
        rest = outer;
      }
      if (rank > 1) {
        rows = advance(rows, rest, strides.getFirst());
      }
      var loaded = new ArrayList<List<Value>>();
      for (int o = 0; o < rows.size(); o++) {
        loaded.add(
            along.get(o)
                ? rows.get(o).loadWhere(inside, width, column.times(width))
                : rows.get(o).loadWhere(inside, 1, k.integer(0)));
      }
      return loaded;
    }

    private static List<GlobalPointer> advance(
        List<GlobalPointer> rows, Int steps, List<Int> strides) {
      var advanced = new ArrayList<GlobalPointer>();
      for (int o = 0; o < rows.size(); o++) {
        advanced.add(rows.get(o).row(steps, strides.get(o)));
      }
      return advanced;
    }

    private List<Value> compute(List<List<Value>> loaded, int width) {
      var code = program.code();
      // what depends on repeated operands only is computed once
      var varies = new boolean[code.size()];
      var repeated = new Emitter(constants);
      for (int i = 0; i < code.size(); i++) {
        var each = code.get(i);
        varies[i] =
            each.function() == Function.INPUT
                ? along.get(each.index())
                : each.operands().stream().anyMatch(operand -> varies[operand]);
        if (!varies[i]) {
          emit(repeated, i, loaded, 0);
        }
      }
      var results = new ArrayList<Value>();
      for (int element = 0; element < width; element++) {
        var emitter = new Emitter(repeated);
        for (int i = 0; i < code.size(); i++) {
          emit(emitter, i, loaded, element);
        }
        results.add(emitter.result());
      }
      return results;
    }

    private void emit(Emitter emitter, int number, List<List<Value>> loaded, int element) {
      var each = program.code().get(number);
      if (each.function() != Function.INPUT) {
        emitter.emit(number);
      } else if (along.get(each.index())) {
        emitter.input(number, loaded.get(each.index()).get(element));
      } else if (element == 0) {
        emitter.input(number, loaded.get(each.index()).getFirst());
      }
    }
  }
}
