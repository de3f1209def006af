package dev.athanor.ops.recurrence;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.expression.RealFunctions;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Updates the state of a head step by step and reads it with the queries of each step. A block
 * holds {@link #columns} columns of the state in registers; {@code parts} neighboring threads share
 * a column, each with {@code rows} rows. The block copies the keys, queries, values, decays and
 * rates of some steps into shared memory, computes these steps, and continues with the next ones.
 *
 * <p>Parameters: q, k, v, decay and beta if they are given, out, next, length, keys, values, heads,
 * tiles, queries, perKeyHead, perQueryHead, steps, scale.
 *
 * @param state dtype of the state
 * @param stateful whether next contains the previous state; it is 0 otherwise
 * @param decay dtype of the decay, if there is one
 * @param perKey whether each row of the state has a decay of its own
 * @param beta dtype of the update rate, if there is one
 * @param rows rows per thread, a multiple of 4
 * @param parts threads per column, a power of two up to 32
 * @param access elements of keys and queries that a thread copies at once; divides their length
 */
record LinearAttentionVariant(
    DType dtype,
    DType state,
    boolean stateful,
    Optional<DType> decay,
    boolean perKey,
    Optional<DType> beta,
    int rows,
    int parts,
    int access)
    implements Variant {

  static final int THREADS = 128;

  /** Consecutive rows of a thread. */
  private static final int GROUP = 4;

  /** Elements that a thread loads before it stores the first one to shared memory. */
  private static final int AHEAD = 16;

  /** The most accesses in which it loads them. */
  private static final int MOST_DEPTH = 4;

  private static final int VECTOR_BYTES = 16;

  /** Returns the number of columns per block. */
  int columns() {
    return THREADS / parts;
  }

  /** Returns the rows of a column, which are at least as many as the elements of a key. */
  int height() {
    return rows * parts;
  }

  /** Returns the type of arithmetic. */
  private Type number() {
    return dtype == DType.F64 ? Type.F64 : Type.F32;
  }

  /**
   * Returns the bytes of shared memory.
   *
   * @param queries queries per step
   * @param steps steps that are copied at once
   */
  long sharedBytes(long queries, long steps) {
    long lines = 1 + (perKey ? 1 : 0) + queries;
    return steps * (lines * height() + columns() + 2) * number().bytes();
  }

  @Override
  public String name() {
    return "linear_attention_%s_%s%s%s%s_r%d_p%d_v%d"
        .formatted(
            dtype.text(),
            state.text(),
            stateful ? "_state" : "",
            decay.map(type -> (perKey ? "_keydecay" : "_decay") + suffix(type)).orElse(""),
            beta.map(type -> "_delta" + suffix(type)).orElse(""),
            rows,
            parts,
            access);
  }

  private String suffix(DType type) {
    return type == dtype ? "" : type.text();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Writer(k).write());
  }

  /** Loads an element of a line of shared memory; zero where it does not exist. */
  @FunctionalInterface
  private interface Source {
    List<Value> load(Int line, Int column);
  }

  private final class Writer {
    private final KernelBuilder k;
    private final Type number = number();
    private final GlobalPointer q;
    private final GlobalPointer keyInput;
    private final GlobalPointer v;
    private final Optional<GlobalPointer> decays;
    private final Optional<GlobalPointer> rates;
    private final GlobalPointer out;
    private final GlobalPointer next;
    private final Int length;
    private final Int keys;
    private final Int values;
    private final Int heads;
    private final Int queries;
    private final Int perQueryHead;
    private final Int steps;
    private final Real scale;

    /** The index of the sequence, and of the head of the state in it. */
    private final Int sequence;

    private final Int head;
    private final Int keyHeads;
    private final Int keyHead;
    private final Int firstColumn;
    private final Int column;
    private final Int part;

    /** The rows of the state of this thread: groups of consecutive ones. */
    private final List<List<Real.Variable>> held = new ArrayList<>();

    private final GlobalPointer stateOfHead;

    // shared memory
    private final SharedTile keyLines;
    private final SharedTile decayLines;
    private final SharedTile queryLines;
    private final SharedTile valueLines;
    private final SharedTile scalars;

    Writer(KernelBuilder k) {
      this.k = k;
      var type = Epilogue.type(dtype);
      q = k.input("q", type);
      keyInput = k.input("k", type);
      v = k.input("v", type);
      decays = decay.map(each -> k.input("decay", Epilogue.type(each)));
      rates = beta.map(each -> k.input("beta", Epilogue.type(each)));
      out = k.pointer("out", type);
      next = k.pointer("next", Epilogue.type(state));
      length = k.integer("length");
      keys = k.integer("keys");
      values = k.integer("values");
      heads = k.integer("heads");
      var tiles = k.integer("tiles");
      queries = k.integer("queries");
      var perKeyHead = k.integer("perKeyHead");
      perQueryHead = k.integer("perQueryHead");
      steps = k.integer("steps");
      scale = k.real("scale", number);
      var all = k.block().div(tiles);
      sequence = all.div(heads);
      head = all.minus(sequence.times(heads));
      keyHeads = heads.div(perKeyHead);
      keyHead = head.div(perKeyHead);
      firstColumn = k.block().minus(all.times(tiles)).times(columns());
      part = k.thread().rem(parts);
      column = firstColumn.plus(k.thread().div(parts));
      stateOfHead = next.matrix(all, keys.wide().times(values));
      var shared = k.dynamicShared();
      int line = height() * number.bytes();
      keyLines = shared.at(k.integer(0), number, 1, height(), height());
      decayLines = keyLines.at(steps.times(line));
      queryLines = perKey ? decayLines.at(steps.times(line)) : decayLines;
      var end = queries.plus(perKey ? 2 : 1).times(steps).times(line);
      valueLines = shared.at(end, number, 1, columns(), columns());
      scalars = shared.at(end.plus(steps.times(columns() * number.bytes())), number, 1, 2, 2);
    }

    void write() {
      var exists = column.lt(values);
      eachRow((group, i, row) -> {
        if (i == 0) {
          held.add(new ArrayList<>());
        }
        held.get(group)
            .add(
                k.variable(
                    stateful
                        ? stateOfHead
                            .loadWhere(exists.and(row.lt(keys)), row.times(values).plus(column))
                            .widen()
                        : k.real(number, 0)));
      });
      k.loop(
          k.integer(0),
          length,
          steps,
          first -> {
            k.barrier(); // the lines of earlier steps were read
            stage(first, length.minus(first).min(steps));
            k.barrier();
            k.loop(
                k.integer(0),
                length.minus(first).min(steps),
                1,
                step -> {
                  update(step);
                  k.loop(k.integer(0), queries, 1, query -> read(first, step, query, exists));
                });
          });
      eachRow((group, i, row) ->
          stateOfHead.storeWhere(
              exists.and(row.lt(keys)),
              row.times(values).plus(column),
              held.get(group).get(i).to(Epilogue.type(state))));
    }

    @FunctionalInterface
    private interface OfRow {
      void accept(int group, int i, Int row);
    }

    private void eachRow(OfRow body) {
      for (int group = 0; group < rows / GROUP; group++) {
        for (int i = 0; i < GROUP; i++) {
          body.accept(group, i, rowOf(group).plus(i));
        }
      }
    }

    /** Returns the first row of a group; those of the threads of a column alternate. */
    private Int rowOf(int group) {
      return part.times(GROUP).plus(group * parts * GROUP);
    }

    /** Returns the index of a step of this sequence among the steps of all sequences. */
    private Int stepOf(Int step) {
      return sequence.times(length).plus(step);
    }

    private void stage(Int first, Int count) {
      stage(
          keyLines,
          height(),
          access,
          steps,
          (line, at) ->
              keyInput
                  .row(stepOf(first.plus(line)).times(keyHeads).plus(keyHead), keys)
                  .loadWhere(line.lt(count).and(at.lt(keys)), access, at));
      if (perKey) {
        stage(
            decayLines,
            height(),
            1,
            steps,
            (line, at) ->
                List.of(
                    exponential(
                        decays
                            .orElseThrow()
                            .row(stepOf(first.plus(line)).times(heads).plus(head), keys)
                            .loadWhere(line.lt(count).and(at.lt(keys)), at))));
      }
      var queryHeads = heads.times(queries).div(perQueryHead);
      stage(
          queryLines,
          height(),
          access,
          steps.times(queries),
          (line, at) -> {
            var step = line.div(queries);
            var query = head.times(queries).plus(line.minus(step.times(queries)));
            return q.row(
                    stepOf(first.plus(step)).times(queryHeads).plus(query.div(perQueryHead)), keys)
                .loadWhere(step.lt(count).and(at.lt(keys)), access, at);
          });
      stage(
          valueLines,
          columns(),
          1,
          steps,
          (line, at) ->
              v.row(stepOf(first.plus(line)).times(heads).plus(head), values)
                  .loadWhere(
                      line.lt(count).and(firstColumn.plus(at).lt(values)),
                      1,
                      firstColumn.plus(at)));
      var step = k.thread();
      var index = stepOf(first.plus(step)).times(heads).plus(head);
      if (decays.isPresent() && !perKey) {
        var value = decays.get().loadWhere(step.lt(count), index);
        scalars.storeWhere(step.lt(count), step, k.integer(0), exponential(value));
      }
      rates.ifPresent(each ->
          scalars.storeWhere(
              step.lt(count), step, k.integer(1), each.loadWhere(step.lt(count), index).widen()));
    }

    private Real exponential(Value value) {
      return new RealFunctions(k).exp(value.widen());
    }

    /** Copies lines of elements, of which a thread loads {@code vector} at once. */
    private void stage(SharedTile to, int line, int vector, Int lines, Source source) {
      int depth = Math.min(MOST_DEPTH, AHEAD / vector);
      int accesses = line / vector;
      var count = lines.times(accesses);
      k.loop(
          k.integer(0),
          count,
          THREADS * depth,
          at -> {
            var loaded = new ArrayList<List<Value>>();
            var places = new ArrayList<Int>();
            for (int d = 0; d < depth; d++) {
              var place = at.plus(d * THREADS).plus(k.thread());
              places.add(place);
              loaded.add(source.load(place.div(accesses), place.rem(accesses).times(vector)));
            }
            int most = VECTOR_BYTES / number.bytes();
            for (int d = 0; d < depth; d++) {
              var place = places.get(d);
              var numbers = loaded.get(d).stream().map(Value::widen).toList();
              for (int i = 0; i < vector; i += most) {
                to.storeWhere(
                    place.lt(count),
                    place.div(accesses),
                    place.rem(accesses).times(vector).plus(i),
                    numbers.subList(i, Math.min(vector, i + most)));
              }
            }
          });
    }

    /** Loads the elements of a line for the rows of a group. */
    private List<Real> group(SharedTile lines, Int line, int group) {
      int most = VECTOR_BYTES / number.bytes();
      var all = new ArrayList<Real>();
      for (int i = 0; i < GROUP; i += most) {
        lines.load(most, line, rowOf(group).plus(i)).forEach(each -> all.add(each.widen()));
      }
      return all;
    }

    private void update(Int step) {
      var keysOfStep = new ArrayList<List<Real>>();
      for (int group = 0; group < rows / GROUP; group++) {
        keysOfStep.add(group(keyLines, step, group));
      }
      if (decay.isPresent()) {
        var common = perKey ? null : scalars.load(step, k.integer(0)).widen();
        for (int group = 0; group < rows / GROUP; group++) {
          var factors = perKey ? group(decayLines, step, group) : List.<Real>of();
          for (int i = 0; i < GROUP; i++) {
            var element = held.get(group).get(i);
            element.set(element.times(common == null ? factors.get(i) : common));
          }
        }
      }
      var value = valueLines.load(step, k.thread().div(parts)).widen();
      var written =
          beta.isPresent()
              ? value.minus(dot(keysOfStep)).times(scalars.load(step, k.integer(1)).widen())
              : value;
      for (int group = 0; group < rows / GROUP; group++) {
        for (int i = 0; i < GROUP; i++) {
          held.get(group).get(i).addProduct(keysOfStep.get(group).get(i), written);
        }
      }
    }

    private void read(Int first, Int step, Int query, Predicate exists) {
      var factors = new ArrayList<List<Real>>();
      for (int group = 0; group < rows / GROUP; group++) {
        factors.add(group(queryLines, step.times(queries).plus(query), group));
      }
      var result = dot(factors).times(scale);
      var heading = head.times(queries).plus(query);
      out.row(stepOf(first.plus(step)).times(heads.times(queries)).plus(heading), values)
          .storeWhere(exists.and(part.eq(0)), column, result.to(Epilogue.type(dtype)));
    }

    /** Returns the product of a vector and the column, in all threads of the column. */
    private Real dot(List<List<Real>> factors) {
      var sums = new ArrayList<Real>();
      for (int i = 0; i < GROUP; i++) {
        var sum = factors.getFirst().get(i).times(held.getFirst().get(i));
        for (int group = 1; group < factors.size(); group++) {
          sum = factors.get(group).get(i).fma(held.get(group).get(i), sum);
        }
        sums.add(sum);
      }
      var sum = sums.get(0).plus(sums.get(1)).plus(sums.get(2).plus(sums.get(3)));
      return k.reduceLanes(sum, parts, Real::plus);
    }
  }
}
