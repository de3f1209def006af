package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.Dimensions;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Type;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Values of the authoring layer are immutable, whether folded or computed on the device. */
class AuthoredValuesTest {

  /** A kernel body of one warp, with its inputs in registers and a consumer of results. */
  private record Body(KernelBuilder k, List<Int> inputs, Consumer<Int> results) {
    Int input(int i) {
      return inputs.get(i);
    }

    void result(Int value) {
      results.accept(value);
    }
  }

  /** Runs a body in one warp and returns the values that the first lane stored. */
  private static List<Integer> run(List<Integer> inputs, Consumer<Body> author) {
    var stored = new int[1];
    var kernel =
        KernelBuilder.build(
            "values",
            KernelBuilder.WARP,
            k -> {
              var in = k.pointer("in", Type.S32);
              var out = k.pointer("out", Type.S32);
              var given = new ArrayList<Int>();
              for (int i = 0; i < inputs.size(); i++) {
                given.add(in.load(k.integer(i)).integer());
              }
              author.accept(
                  new Body(
                      k,
                      given,
                      value ->
                          out.storeWhere(k.thread().eq(0), k.integer(stored[0]++), value.value())));
            });
    var results = new int[Math.max(1, stored[0])];
    try (var device = new EmulatedDevice();
        var stream = device.openStream();
        Buffer in = device.allocate(Math.max(4L, 4L * inputs.size()));
        Buffer out = device.allocate(4L * results.length)) {
      stream.upload(
          MemorySegment.ofArray(inputs.stream().mapToInt(Integer::intValue).toArray()), in, 0);
      stream.launch(
          new Launch(
              device.load(Module.of(kernel), kernel.name()),
              Dim3.of(1),
              Dim3.of(KernelBuilder.WARP),
              0,
              List.of(Argument.of(in), Argument.of(out))));
      stream.download(out, 0, MemorySegment.ofArray(results));
      stream.synchronize();
    }
    return Arrays.stream(results).limit(stored[0]).boxed().toList();
  }

  /** All operations that return an integer without an instruction. */
  static Map<String, UnaryOperator<Int>> unchangedIntegers() {
    var all = new LinkedHashMap<String, UnaryOperator<Int>>();
    all.put("plus(0)", v -> v.plus(0));
    all.put("plus(1)", v -> v.plus(1).plus(-1));
    all.put("times(1)", v -> v.times(1));
    all.put("div(1)", v -> v.div(1));
    all.put("shl(0)", v -> v.shl(0));
    all.put("shr(0)", v -> v.shr(0));
    all.put("shrSigned(0)", v -> v.shrSigned(0));
    all.put("value", v -> v.value().integer());
    all.put("value.bits", v -> v.value().bits());
    all.put("value.as", v -> v.value().as(Type.U32).integer());
    all.put("wide.narrow", v -> v.wide().narrow());
    return all;
  }

  /** Layouts from lanes to rows and columns: those of instructions, and random ones. */
  static List<LinearLayout> layoutsOfLanes() {
    var layouts = new ArrayList<LinearLayout>();
    for (var fragment :
        List.of(Fragments.C_16X8, Fragments.a(16, 16, 8), Fragments.MATRIX_8X8_TRANSPOSED)) {
      layouts.add(fragment.layout());
    }
    var random = new SplittableRandom(TestTier.seed());
    var matrix = Dimensions.of(Axis.COLUMN, 8).and(Axis.ROW, 8);
    for (int i = 0; i < 16; i++) {
      var bases = random.ints(5, 0, 64).boxed().toList();
      layouts.add(new LinearLayout(Dimensions.of(Axis.LANE, 32), matrix, bases));
    }
    // shifted images that overlap, which no product computes
    layouts.add(
        new LinearLayout(Dimensions.of(Axis.LANE, 32), matrix, List.of(3, 6, 3 << 3, 6 << 3, 1)));
    return layouts;
  }

  @ParameterizedTest
  @MethodSource("layoutsOfLanes")
  void coordinatesOfLanesAreThoseOfTheLayout(LinearLayout layout) {
    var lanes = IntStream.range(0, KernelBuilder.WARP).boxed().toList();
    var results =
        run(
            lanes,
            body -> {
              for (int lane : lanes) {
                var at = new LaneCoordinates(layout, body.input(lane));
                body.result(at.row());
                body.result(at.column());
              }
            });
    for (int lane : lanes) {
      assertThat(results.subList(2 * lane, 2 * lane + 2))
          .as("lane %d of %s", lane, layout)
          .containsExactly(
              layout.apply(Axis.ROW, Map.of(Axis.LANE, lane)),
              layout.apply(Axis.COLUMN, Map.of(Axis.LANE, lane)));
    }
  }

  @Test
  void coordinatesRepeatBeyondTheLanesOfALayout() {
    var rows = LinearLayout.of(Axis.LANE, Axis.ROW, 8);
    assertThat(
            run(
                List.of(7, 8, 31),
                body -> {
                  for (var lane : body.inputs()) {
                    body.result(new LaneCoordinates(rows, lane).row());
                  }
                }))
        .containsExactly(7, 0, 7);
  }

  @Test
  void integersKeepTheirValueWhenAVariableChanges() {
    var made = unchangedIntegers();
    var results =
        run(
            List.of(7),
            body -> {
              var v = body.k.variable(body.input(0));
              var before = made.values().stream().map(f -> f.apply(v)).toList();
              var added = body.k.integer(5).plus(v);
              var values = made.values().stream().map(f -> f.apply(v).value()).toList();
              v.set(body.k.integer(100));
              before.forEach(body::result);
              values.forEach(value -> body.result(value.integer()));
              body.result(added);
              body.result(v);
            });
    assertThat(results.subList(0, 2 * made.size())).hasSize(2 * made.size()).containsOnly(7);
    assertThat(results.subList(2 * made.size(), results.size())).containsExactly(12, 100);
  }

  @Test
  void floatsKeepTheirValueWhenAVariableChanges() {
    List<Function<Real, Value>> made =
        List.of(Real::widen, v -> v.to(Type.F32), v -> v.as(Type.F32), v -> v.as(Type.B32));
    int seven = Float.floatToRawIntBits(7);
    for (int how = 0; how < 3; how++) {
      int change = how;
      var results =
          run(
              List.of(7),
              body -> {
                var k = body.k;
                var v = k.variable(body.input(0).real(Type.F32));
                var before = made.stream().map(f -> f.apply(v)).toList();
                switch (change) {
                  case 0 -> v.set(k.real(Type.F32, 100));
                  case 1 -> v.add(k.real(Type.F32, 93));
                  default -> v.addProduct(k.real(Type.F32, 31), k.real(Type.F32, 3));
                }
                before.forEach(value -> body.result(value.bits()));
                body.result(v.bits());
              });
      assertThat(results.subList(0, made.size())).hasSize(made.size()).containsOnly(seven);
      assertThat(results.getLast()).isEqualTo(Float.floatToRawIntBits(100));
    }
  }

  @Test
  void valuesFromBeforeALoopAreInvariant() {
    var results =
        run(
            List.of(3),
            body -> {
              var k = body.k;
              var v = k.variable(body.input(0));
              var before = v.plus(1);
              var sum = k.variable(k.integer(0));
              k.loop(
                  k.integer(0),
                  body.input(0),
                  1,
                  i -> {
                    // used before the change, which an earlier iteration has already made
                    sum.add(before);
                    v.set(v.plus(10));
                  });
              body.result(sum);
              body.result(before);
              body.result(v);
            });
    assertThat(results).containsExactly(12, 4, 33);
  }

  @Test
  void valuesInALoopBelongToTheIteration() {
    var results =
        run(
            List.of(4),
            body -> {
              var k = body.k;
              var v = k.variable(k.integer(1));
              var sum = k.variable(k.integer(0));
              k.loop(
                  k.integer(0),
                  body.input(0),
                  1,
                  i -> {
                    var before = v.plus(0);
                    v.set(v.times(2));
                    k.loop(k.integer(0), k.integer(2), 1, j -> sum.add(before));
                  });
              body.result(sum);
              body.result(v);
            });
    assertThat(results).containsExactly(2 * (1 + 2 + 4 + 8), 16);
  }

  @Test
  void valuesSurviveConditionalChanges() {
    for (int changes = 0; changes < 2; changes++) {
      var results =
          run(
              List.of(7, changes),
              body -> {
                var k = body.k;
                var v = k.variable(body.input(0));
                var before = v.plus(1);
                k.when(
                    body.input(1).eq(1),
                    () -> {
                      v.set(k.integer(100));
                      body.result(before);
                    },
                    () -> body.result(before.plus(1)));
                body.result(before);
                body.result(v);
              });
      assertThat(results.subList(2, 4)).containsExactly(8, changes == 1 ? 100 : 7);
      assertThat(results.get(1 - changes)).isEqualTo(9 - changes);
    }
  }

  @Test
  void addressesKeepTheirValueWhenAVariableChanges() {
    var results =
        run(
            List.of(0, 11, 22),
            body -> {
              var k = body.k;
              var tile = k.shared(Type.S32, 1, 64, 64);
              tile.store(k.integer(0), k.thread(), k.thread().times(3).value());
              k.barrier();
              var v = k.variable(body.input(0).plus(5));
              var at = v.plus(2);
              v.set(k.integer(30));
              body.result(tile.load(k.integer(0), at).integer());
              body.result(tile.load(k.integer(0), v.plus(1)).integer());
            });
    assertThat(results).containsExactly(21, 93);
  }

  /** A value that is not used after a change needs no copy. */
  @Test
  void unchangedVariablesAreNotCopied() {
    var kernel =
        KernelBuilder.build(
            "test",
            32,
            k -> {
              var x = k.pointer("x", Type.S32);
              var v = k.variable(k.integer("n"));
              v.set(v.plus(1));
              k.when(k.thread().lt(v), () -> x.store(v.plus(1), v.plus(2).value()));
            });
    var text = Module.of(kernel).toString();
    assertThat(text).doesNotContain("mov.b32").contains("+4]");
  }

  @Test
  void valuesAreNotReusedOutsideTheirScope() {
    var message =
        "AuthoredValuesTest.java:\\d+: %r\\d+ was computed in a loop or condition that has ended; keep it in a variable";
    Consumer<Consumer<Body>> isRefused =
        author ->
            assertThatIllegalStateException()
                .isThrownBy(() -> run(List.of(3), author))
                .withMessageMatching(message);
    isRefused.accept(body -> {
      var v = body.k.variable(body.input(0));
      var kept = new Int[1];
      body.k.when(body.k.thread().lt(3), () -> kept[0] = v.plus(1));
      body.result(kept[0]);
    });
    // the counter and values derived from it
    for (int more : new int[] {0, 1}) {
      isRefused.accept(body -> {
        var kept = new Int[1];
        body.k.loop(body.k.integer(0), body.input(0), 1, i -> kept[0] = i.plus(more));
        body.result(kept[0]);
      });
    }
  }

  @Test
  void onlyVariablesCanBeIncremented() {
    var a = new ArrayList<Value>();
    var results =
        run(
            List.of(0x01010101),
            body -> {
              var k = body.k;
              for (int i = 0; i < Mma.S8.registersA(); i++) {
                a.add(body.input(0).value().as(Type.B32));
              }
              var sum = new ArrayList<Value>();
              for (int i = 0; i < Mma.S8.registersSum(); i++) {
                sum.add(k.accumulator(Type.S32));
              }
              k.mma(Mma.S8, a, a.subList(0, Mma.S8.registersB()), sum);
              var once = sum.getFirst().integer();
              k.mma(Mma.S8, a, a.subList(0, Mma.S8.registersB()), sum);
              body.result(once);
              body.result(sum.getFirst().integer());
            });
    assertThat(results).containsExactly(32, 64);
    assertThatIllegalArgumentException()
        .isThrownBy(() ->
            run(
                List.of(1),
                body -> {
                  var bits = Collections.nCopies(4, body.input(0).value());
                  body.k.mma(Mma.S8, bits, bits.subList(0, 2), bits);
                }))
        .withMessageMatching(
            "AuthoredValuesTest.java:\\d+: mma accumulates into variables of .s32, got a value of .s32; create them with accumulator\\(\\)");
  }

  private static final List<Integer> EDGES =
      List.of(
          0,
          1,
          -1,
          2,
          7,
          -7,
          32,
          65_536,
          0x5555_5555,
          Integer.MAX_VALUE,
          Integer.MIN_VALUE,
          Integer.MIN_VALUE + 1);

  /** A binary operation on integers. */
  private interface Operation extends BiFunction<Int, Int, Int> {}

  private static Operation comparison(KernelBuilder k, BiFunction<Int, Int, Predicate> holds) {
    return (a, b) -> k.integer(1).where(holds.apply(a, b), k.integer(0));
  }

  private static List<Operation> operations(KernelBuilder k, int b) {
    var all =
        new ArrayList<Operation>(
            List.of(
                Int::plus,
                Int::minus,
                Int::times,
                Int::unsignedMultiplyHigh,
                Int::xor,
                Int::and,
                Int::or,
                Int::shl,
                Int::shr,
                Int::shrSigned,
                Int::min,
                Int::max,
                comparison(k, Int::lt),
                comparison(k, Int::le),
                comparison(k, Int::gt),
                comparison(k, Int::ge),
                comparison(k, Int::eq),
                comparison(k, Int::ne)));
    if (b != 0) {
      all.add(Int::div);
      all.add(Int::rem);
    }
    return all;
  }

  /** Returns the same operations with a Java literal, in the same order; null if there is none. */
  private static List<UnaryOperator<Int>> withLiteral(KernelBuilder k, int b) {
    var all =
        new ArrayList<UnaryOperator<Int>>(
            List.of(
                a -> a.plus(b),
                a -> a.minus(k.integer(b)),
                a -> a.times(b),
                a -> a.unsignedMultiplyHigh(k.integer(b)),
                a -> a.xor(k.integer(b)),
                a -> a.and(b),
                a -> a.or(k.integer(b)),
                a -> a.shl(b),
                a -> a.shr(b),
                a -> a.shrSigned(b),
                a -> a.min(k.integer(b)),
                a -> a.max(k.integer(b)),
                a -> k.integer(1).where(a.lt(b), k.integer(0)),
                a -> k.integer(1).where(a.le(k.integer(b)), k.integer(0)),
                a -> k.integer(1).where(a.gt(k.integer(b)), k.integer(0)),
                a -> k.integer(1).where(a.ge(k.integer(b)), k.integer(0)),
                a -> k.integer(1).where(a.eq(b), k.integer(0)),
                a -> k.integer(1).where(a.ne(k.integer(b)), k.integer(0))));
    if (b != 0) {
      all.add(a -> a.div(b));
      all.add(a -> a.rem(b));
    }
    return all;
  }

  static List<Integer> edges() {
    return EDGES;
  }

  /** Folded constants equal the device's results, whichever operands are known. */
  @ParameterizedTest
  @MethodSource("edges")
  void constantFoldingAgreesWithTheDevice(int b) {
    var inputs = new ArrayList<>(EDGES);
    inputs.add(b);
    var results =
        run(
            inputs,
            body -> {
              var k = body.k;
              var known = k.integer(b);
              var loaded = body.inputs.getLast();
              var literal = withLiteral(k, b);
              var operations = operations(k, b);
              for (int i = 0; i < EDGES.size(); i++) {
                for (int o = 0; o < operations.size(); o++) {
                  var a = k.integer(EDGES.get(i));
                  var operation = operations.get(o);
                  body.result(operation.apply(body.input(i), loaded));
                  body.result(operation.apply(a, known));
                  body.result(operation.apply(a, loaded));
                  body.result(operation.apply(body.input(i).plus(0), known));
                  body.result(literal.get(o).apply(a));
                  body.result(literal.get(o).apply(body.input(i)));
                }
              }
            });
    int ways = 6;
    int count = results.size() / ways / EDGES.size();
    for (int i = 0; i < results.size(); i += ways) {
      assertThat(results.subList(i, i + ways))
          .as("operation %d of %d and %d", i / ways % count, EDGES.get(i / ways / count), b)
          .containsOnly(results.get(i));
    }
    int seventh = EDGES.indexOf(-7) * count * ways;
    if (b == 2) {
      assertThat(results.get(seventh + (count - 2) * ways)).isEqualTo(2147483644);
    }
  }

  @Test
  void wrappingOffsetsAddressCorrectly() {
    var results =
        run(
            List.of(Integer.MIN_VALUE + 1, 22, 33),
            body -> {
              var k = body.k;
              body.result(k.integer(Integer.MAX_VALUE).plus(1));
              body.result(k.integer(1 << 30).times(6));
              var i = body.input(0).plus(Integer.MAX_VALUE).plus(1);
              body.result(i);
              body.result(body.input(0).plus(1 << 30).times(2));
            });
    assertThat(results).containsExactly(Integer.MIN_VALUE, Integer.MIN_VALUE, 1, -2147483646);
  }

  @Test
  void rejectsDivisionByZero() {
    List<Operation> divisions =
        List.of((x, _) -> x.div(0), (x, _) -> x.rem(0), (x, zero) -> x.div(zero), Int::rem);
    for (var division : divisions) {
      for (boolean constant : new boolean[] {false, true}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() ->
                run(
                    List.of(1),
                    body -> {
                      var x = constant ? body.k.integer(5) : body.input(0);
                      body.result(division.apply(x, body.k.integer(0)));
                    }))
            .withMessageMatching(
                "AuthoredValuesTest.java:\\d+: division by the constant 0; use another divisor");
      }
    }
  }

  /** Whether loop bounds are known while the kernel is built, or read on the device. */
  private enum Given {
    KNOWN,
    READ;

    Int of(Body body, int value, int input) {
      return this == KNOWN ? body.k.integer(value) : body.input(input);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0, 10, 3",
    "0, 10, 1",
    "-5, 5, 5",
    "5, 5, 1",
    "6, 5, 2",
    "2147483640, 2147483647, 1",
    "2147483640, 2147483647, 2",
    "2147483640, 2147483647, 4",
    "2147483640, 2147483646, 1000",
    "2147483646, 2147483647, 2147483647",
    "-2147483648, -2147483647, 5",
    "-2147483648, -2147483640, 2147483647",
    "-2147483648, 2147483647, 2147483647",
  })
  void loopsEndNearTheMaximumInteger(int from, int to, int step) {
    int count = 0;
    long last = 0;
    for (long i = from; i < to; i += step) {
      count++;
      last = i;
    }
    var expected = List.of(count, (int) last);
    var ways = new ArrayList<String>();
    var results =
        run(
            List.of(from, to, step),
            body -> {
              for (var first : Given.values()) {
                for (var end : Given.values()) {
                  for (var by : Given.values()) {
                    ways.add("from %s to %s by %s".formatted(first, end, by));
                    var begin = first.of(body, from, 0);
                    count(body, begin, end.of(body, to, 1), by == Given.KNOWN ? step : 0);
                  }
                }
              }
            });
    for (int way = 0; way < ways.size(); way++) {
      assertThat(results.subList(2 * way, 2 * way + 2)).as(ways.get(way)).isEqualTo(expected);
    }
  }

  /** Stores a loop's trip count and last counter; a step of 0 is read from input 2. */
  private static void count(Body body, Int from, Int to, int step) {
    var k = body.k;
    var iterations = k.variable(k.integer(0));
    var last = k.variable(k.integer(0));
    Consumer<Int> each =
        i -> {
          iterations.add(k.integer(1));
          last.set(i);
        };
    if (step == 0) {
      k.loop(from, to, body.input(2), each);
    } else {
      k.loop(from, to, step, each);
    }
    body.result(iterations);
    body.result(last);
  }

  @Test
  void loopBoundAndStepAreEvaluatedOnce() {
    var results =
        run(
            List.of(10),
            body -> {
              var k = body.k;
              var from = k.variable(k.integer(0));
              var end = k.variable(body.input(0));
              var step = k.variable(k.integer(2));
              var iterations = k.variable(k.integer(0));
              k.loop(
                  from,
                  end,
                  step,
                  i -> {
                    iterations.add(k.integer(1));
                    from.set(k.integer(50));
                    end.set(k.integer(3));
                    step.set(k.integer(100));
                  });
              body.result(iterations);
              k.loop(
                  k.integer(0),
                  end,
                  1,
                  i -> {
                    iterations.add(k.integer(1));
                    end.set(end.plus(1));
                  });
              body.result(iterations);
              body.result(end);
            });
    assertThat(results).containsExactly(5, 8, 6);
  }

  @Test
  void bitsAreMaskedAndTurnedAtOnce() {
    var results =
        run(
            List.of(0x1234_5678),
            body -> {
              body.result(body.input(0).andXor(0x0F0F_0F0F, 0x6400_6400));
              body.result(body.k.integer(0x1234_5678).andXor(0x0F0F_0F0F, 0x6400_6400));
            });
    int expected = (0x1234_5678 & 0x0F0F_0F0F) ^ 0x6400_6400;
    assertThat(results).containsExactly(expected, expected);
  }

  /** What was read of a variable stays what it was. */
  @Test
  void variablesOfBitsAreReadWhereTheOperationIsWritten() {
    var results =
        run(
            List.of(5),
            body -> {
              var variable = body.k.variable(body.input(0).value());
              var before = variable.integer().plus(1);
              variable.set(body.k.integer(40).value());
              body.result(before);
              body.result(variable.integer().plus(2));
            });
    assertThat(results).containsExactly(6, 42);
  }
}
