package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.OpaqueMatrix;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.check.Verifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AuthoringTest {

  @Test
  void indexArithmeticIsHoistedAndShared() {
    var kernel =
        build(k -> {
          var x = k.pointer("x", Type.F32);
          var n = k.integer("n");
          var sum = k.variable(k.real(Type.F32, 0));
          k.loop(
              k.integer(0),
              n,
              1,
              i -> {
                var row = k.thread().times(n).plus(7);
                sum.addProduct(
                    x.row(row, n).load(i).widen(), x.row(row, n).load(i.plus(1)).widen());
              });
          x.storeWhere(k.thread().lt(n), k.thread(), sum);
        });
    var text = Module.of(kernel).toString();
    assertThat(text).containsOnlyOnce("mul.lo.s32").containsOnlyOnce("mul.wide.s32");
    assertThat(text.indexOf("mul.wide.s32")).isLessThan(text.indexOf("$loop0:"));
    // both loads share one address in the loop; the second uses an offset
    assertThat(text.substring(text.indexOf("$loop0:"), text.indexOf("bra $loop0")))
        .containsOnlyOnce("mad.wide.s32")
        .contains("+4];");
  }

  @Test
  void expressionsOfVariablesAreRecomputed() {
    var kernel =
        build(k -> {
          var x = k.pointer("x", Type.F32);
          var v = k.variable(k.integer(1));
          var before = v.times(3);
          v.set(k.integer(2));
          var after = v.times(3);
          x.storeWhere(before.lt(after), before.plus(after), k.real(Type.F32, 1));
        });
    assertThat(Module.of(kernel).toString())
        .containsPattern("(?s)mul.lo.s32.*mov.s32 %r\\d+, 2;.*mul.lo.s32");
  }

  @Test
  void conditionsAreNotReusedAcrossALoop() {
    var kernel =
        build(k -> {
          var x = k.pointer("x", Type.F32);
          var n = k.integer("n");
          k.loop(k.integer(0), n, 1, i -> x.storeWhere(k.thread().lt(n), i, k.real(Type.F32, 1)));
        });
    var text = Module.of(kernel).toString();
    assertThat(text.indexOf("setp.lt.s32", text.indexOf("$loop0:"))).isPositive();
  }

  @Test
  void valuesOfALoopAreNotReusedOutside() {
    assertThatThrownBy(() ->
            build(k -> {
              var x = k.pointer("x", Type.F32);
              var kept = new Value[1];
              k.loop(k.integer(0), k.integer("n"), 1, i -> kept[0] = x.load(i));
              x.storeWhere(k.thread().lt(k.integer(1)), k.integer(0), kept[0]);
            }))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(
            "AuthoringTest.java:\\d+: %f\\d+ was computed in a loop or condition that has ended; keep it in a variable");
  }

  @Test
  void valuesOfAConditionAreNotReusedOutside() {
    var message =
        "AuthoringTest.java:\\d+: %f\\d+ was computed in a loop or condition that has ended; keep it in a variable";
    var kept = new Value[1];
    assertThatThrownBy(() ->
            build(k -> {
              var x = k.pointer("x", Type.F32);
              k.when(k.thread().lt(1), () -> kept[0] = x.load(k.thread()));
              x.store(k.integer(0), kept[0]);
            }))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(message);
    assertThatThrownBy(() ->
            build(k -> {
              var x = k.pointer("x", Type.F32);
              k.when(
                  k.thread().lt(1),
                  () -> kept[0] = x.load(k.thread()),
                  () -> x.store(k.integer(0), kept[0]));
            }))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(message);
  }

  @ParameterizedTest
  @CsvSource({
    "-1, 1, -1",
    "0, 1, 0",
    "1025, 1, 1025",
    "2048, 1, 2048",
    "0, 8, 0x8",
    "64, 32, 64x32",
    "65536, 65536, 65536x65536"
  })
  void blocksHaveOneTo1024Threads(int width, int height, String block) {
    assertThatThrownBy(
            () -> {
              if (height == 1) {
                KernelBuilder.build("test", width, _ -> {});
              } else {
                KernelBuilder.build("test", width, height, _ -> {});
              }
            })
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("a block has 1 to 1024 threads, got " + block);
  }

  /** Blocks can have any size; only exchanges between lanes need full warps. */
  @Test
  void inputsAreReadThroughTheReadOnlyCacheAndNotWritten() {
    var text =
        Module.of(
                build(k -> {
                  var x = k.input("x", Type.F32);
                  var y = k.pointer("y", Type.F32);
                  y.store(k.thread(), x.plus(k.wide(4)).load(k.thread()));
                  var either = x.where(k.thread().lt(3), y);
                  y.store(k.thread(), either.load(k.thread()));
                }))
            .toString();
    assertThat(text).containsOnlyOnce("ld.global.nc.f32").containsOnlyOnce("ld.global.f32");
    assertThatThrownBy(
            () -> build(k -> k.input("x", Type.F32).store(k.thread(), k.real(Type.F32, 1))))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(
            "AuthoringTest.java:\\d+: cannot store through an input, which is read-only; declare it with pointer\\(\\)");
  }

  @Test
  void variablesKeepTheirType() {
    assertThatThrownBy(() ->
            build(k -> {
              var pair = k.variable(k.pack(k.real(Type.F32, 1).to(Type.F16), half(k)));
              pair.set(half(k));
            }))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageMatching(
            "AuthoringTest.java:\\d+: cannot set a variable of .b32 to a value of .f16; convert it, or reinterpret its bits with as\\(\\)");
  }

  @Test
  void rowVectorsAreOfTheRowsOfTheirTile() {
    assertThatThrownBy(() ->
            build(k -> {
              var two = tile(k, 2);
              tile(k, 4).rowVector(0).zip(two.rowVector(0), Real::plus);
            }))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageMatching(
            "AuthoringTest.java:\\d+: cannot combine numbers of 4 rows with numbers of 2 rows; take both from tiles of the same rows");
    assertThatThrownBy(() ->
            build(k -> {
              var sums = tile(k, 2).reduceRows(Real::plus);
              sums.set(sums);
            }))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageMatching(
            "AuthoringTest.java:\\d+: cannot set a row vector of values; create one of variables with RegisterTile.rowVector\\(\\)");
  }

  private static RegisterTile tile(KernelBuilder k, int rows) {
    var distances = IntStream.range(0, rows).boxed().toList();
    return new RegisterTile(
        k, new RegisterTile.Layout(k.thread(), distances, k.lane(), List.of(0, 1), 4));
  }

  private static Value half(KernelBuilder k) {
    return k.real(Type.F32, 2).to(Type.F16);
  }

  @Test
  void acceptsBlocksOfPartialWarps() {
    var kernel =
        KernelBuilder.build(
            "test", 100, k -> k.pointer("x", Type.S32).store(k.thread(), k.thread().value()));
    Verifier.verify(Module.of(kernel));
    assertThat(kernel.maxThreads()).isEqualTo(100);
  }

  @Test
  void rejectsUnknownInstructionsWithAlternatives() {
    refuses(
        k -> k.compute(Type.F32, "sinh.f32", k.real(Type.F32, 1)),
        "AuthoringTest.java:\\d+: unknown instruction \"sinh\"; supported are .*, sin, .*, tanh, .*");
    refuses(
        k -> k.compute(Type.F32, "sin.f32", k.real(Type.F32, 1)),
        "AuthoringTest.java:\\d+: unknown instruction \"sin.f32\"; the syntax of sin is sin.approx.*");
    refuses(
        k -> k.compute(Type.F32, "tanh.approx.f32"),
        "AuthoringTest.java:\\d+: tanh.approx.f32 takes \\(d = .*, a = .*\\), not \\(%f0\\)");
  }

  @Test
  void rejectsFloatProductsOfIntegers() {
    refuses(
        k -> {
          var x = k.thread().value();
          k.compute(Type.S32, "fma.rn.s32", x, x, x);
        },
        "AuthoringTest.java:\\d+: unknown instruction \"fma.rn.s32\"; the syntax of fma is fma.*f32.*");
    refuses(
        k -> {
          var x = k.thread().value();
          k.compute(Type.F32, "fma.rn.f32", x, x, x);
        },
        "AuthoringTest.java:\\d+: operand a of fma.rn.f32 is .f32, got a value of .s32; convert it, or reinterpret its bits with as\\(\\)");
    build(k -> {
      var x = k.thread().value().as(Type.F32);
      k.pointer("x", Type.F32).store(k.thread(), k.compute(Type.F32, "fma.rn.f32", x, x, x));
    });
  }

  @Test
  void rejectsNonPositiveLoopSteps() {
    for (int step : new int[] {0, -1}) {
      refuses(
          k -> k.loop(k.integer(0), k.integer("n"), step, _ -> {}),
          "a loop's step must be positive, got " + step);
    }
  }

  private static void refuses(Consumer<KernelBuilder> author, String message) {
    assertThatThrownBy(() -> build(author))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageMatching(message);
  }

  @ParameterizedTest
  @CsvSource({"0, 4, 4", "4, 0, 4", "-1, 4, 4", "2, 8, 7", "65536, 65536, 65536"})
  void rejectsEmptySharedMemory(int rows, int columns, int pitch) {
    refuses(
        k -> k.shared(Type.F32, rows, columns, pitch),
        "a tile in shared memory needs at least 1 row and 1 column, a pitch of at least its columns, and less than 2 GiB; got %d rows of %d columns of .f32 with a pitch of %d elements"
            .formatted(rows, columns, pitch));
  }

  @Test
  void rejectsTooMuchStaticSharedMemory() {
    build(k -> k.shared(Type.F32, 64, 192, 192));
    refuses(
        k -> k.shared(Type.F32, 64, 192, 193),
        ".*: kernel test has 49408 bytes of static shared memory, the maximum is 49152; make an array dynamic");
    // the product overflows an int and must not bypass the limit
    refuses(
        k -> {
          k.shared(Type.F32, 16384, 32767, 32767);
          k.shared(Type.F32, 16384, 32767, 32767);
        },
        ".*: kernel test has 2147483647 bytes of static shared memory, the maximum is 49152; make an array dynamic");
  }

  @Test
  void rejectsUnsupportedParameterAndConstantTypes() {
    refuses(
        k -> k.real("x", Type.S32),
        "a real number must be .f32 or .f64, got .s32; load smaller types and widen them");
    refuses(
        k -> k.real(Type.F16, 1),
        "a real number must be .f32 or .f64, got .f16; load smaller types and widen them");
    refuses(
        k -> k.pointer("x", Type.PRED), "elements in memory must be at least one byte, got .pred");
    refuses(
        k -> k.shared(Type.PRED, 1, 1, 1),
        "elements in memory must be at least one byte, got .pred");
    refuses(
        k -> {
          k.integer("n");
          k.wide("n");
        },
        "AuthoringTest.java:\\d+: the name `n` is already used for a parameter declared at AuthoringTest.java:\\d+; choose another name");
  }

  @Test
  void rejectsDuplicateAndInvalidNames() {
    refuses(
        k -> {
          k.shared(Type.F32, 1, 1, 1);
          k.pointer("tile0", Type.F32);
        },
        "AuthoringTest.java:\\d+: the name `tile0` is already used for a tile in shared memory declared at AuthoringTest.java:\\d+; choose another name");
    build(k -> {
      k.pointer("tile0", Type.F32);
      k.shared(Type.F32, 1, 1, 1);
    });
    refuses(
        k -> {
          k.pointer("dynamic", Type.F32);
          k.dynamicShared();
        },
        "AuthoringTest.java:\\d+: the name `dynamic` is already used for a parameter declared at AuthoringTest.java:\\d+; choose another name");
    assertThatThrownBy(() ->
            build(k -> {
              k.dynamicShared();
              k.dynamicShared();
            }))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(
            "AuthoringTest.java:\\d+: the dynamic shared memory was already declared at AuthoringTest.java:\\d+; cut tiles from it with at\\(\\)");
    for (var name : new String[] {"", "2x", "a b", "x-y", "%r1"}) {
      refuses(
          k -> k.integer(name),
          "AuthoringTest.java:\\d+: `%s` is not a valid name for a parameter; use a letter followed by letters, digits, _ and \\$"
              .formatted(name));
      assertThatThrownBy(() -> KernelBuilder.build(name, 32, _ -> {}))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "`%s` is not a valid kernel name; use a letter followed by letters, digits, _ and $"
                  .formatted(name));
    }
  }

  @Test
  void rejectsDuplicateKernelNames() {
    var first = build(k -> k.barrier());
    var second = build(k -> k.warpBarrier());
    var module = new Module(Module.PORTABLE, Target.SM_80, List.of(first, second));
    assertThatThrownBy(() -> Verifier.verify(module))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageMatching(
            "AuthoringTest.java:\\d+: the module declares kernel test, but the name is already taken by the code at AuthoringTest.java:\\d+");
  }

  private static void storeIsRefused(Type element, Function<KernelBuilder, Value> value) {
    for (var store :
        List.<BiConsumer<KernelBuilder, Value>>of(
            (k, v) -> k.pointer("x", element).store(k.thread(), v),
            (k, v) -> k.pointer("x", element).storeWhere(k.thread().lt(1), k.thread(), v),
            (k, v) -> k.shared(element, 1, 1, 1).store(k.integer(0), k.integer(0), v),
            (k, v) -> k.shared(element, 1, 2, 2).store(k.integer(0), k.integer(0), List.of(v, v)),
            (k, v) -> k.pointer("x", element).store(k.thread(), List.of(v, v)))) {
      assertThatThrownBy(() -> build(k -> store.accept(k, value.apply(k))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageMatching(
              "AuthoringTest.java:\\d+: cannot store a value of \\.\\w+ in an element of \\.%s; convert it( first|, or reinterpret its bits with as\\(\\))"
                  .formatted(element.word()));
    }
  }

  /** PTX would store the bits of any register, with another value if types differ. */
  @Test
  void rejectsStoresOfAnotherType() {
    refuses(
        k -> k.pointer("x", Type.F32).store(k.thread(), k.thread().value()),
        "AuthoringTest.java:\\d+: cannot store a value of .s32 in an element of .f32; convert it, or reinterpret its bits with as\\(\\)");
    refuses(
        k -> k.pointer("x", Type.F16).store(k.thread(), k.thread().value()),
        "AuthoringTest.java:\\d+: cannot store a value of .s32 in an element of .f16; convert it first");
    for (var element : List.of(Type.F32, Type.F16, Type.BF16, Type.F64, Type.S64)) {
      storeIsRefused(element, k -> k.thread().value());
    }
    for (var element : List.of(Type.S32, Type.F16, Type.F64, Type.S8)) {
      storeIsRefused(element, k -> k.real(Type.F32, 1));
    }
    storeIsRefused(Type.BF16, k -> k.real(Type.F32, 1).to(Type.F16));
    storeIsRefused(Type.S16, k -> k.real(Type.F32, 1).to(Type.F16));
    build(k -> {
      var bytes = k.pointer("bytes", Type.U8);
      bytes.store(k.thread(), k.thread().value());
      var reals = k.pointer("reals", Type.F32);
      reals.store(k.thread(), k.thread().real(Type.F32));
      reals.store(k.thread(), k.thread().value().as(Type.F32));
      reals.store(k.thread(), k.thread().value().as(Type.B32));
      k.pointer("bits", Type.B16).store(k.thread(), k.real(Type.F32, 1).to(Type.F16));
    });
  }

  @Test
  void rejectsOperandsAndResultsOfOtherTypes() {
    refuses(
        k -> k.compute(Type.S32, "add.rn.f32", k.real(Type.F32, 1), k.real(Type.F32, 1)),
        "AuthoringTest.java:\\d+: operand d of add.rn.f32 is .f32, the requested result is .s32; convert it, or reinterpret its bits with as\\(\\)");
    refuses(
        k -> {
          var half = k.real(Type.F32, 1).to(Type.BF16);
          k.compute(Type.F16, "add.rn.f16", half, half);
        },
        "AuthoringTest.java:\\d+: operand a of add.rn.f16 is .f16, got a value of .bf16; convert it, or reinterpret its bits with as\\(\\)");
    refuses(
        k -> {
          var half = k.real(Type.F32, 1).to(Type.F16);
          k.compute(Type.S16, "add.s16", half, half);
        },
        "AuthoringTest.java:\\d+: operand a of add.s16 is .s16, got a value of .f16; convert it, or reinterpret its bits with as\\(\\)");
    refuses(
        k -> k.thread().real(Type.F16),
        "a real number must be .f32 or .f64, got .f16; load smaller types and widen them");
  }

  @Test
  void rejectsProductsAndCopiesOfOtherTypes() {
    refuses(
        k -> k.multiplyAsync(Mma.S8, MatrixFragment.of(), k.wide(0), true, List.of()),
        "AuthoringTest.java:\\d+: a factor in registers is of .f16 or .bf16, got .s8");
    refuses(
        k -> {
          var bits = Collections.nCopies(4, k.thread().value().as(Type.B32));
          var sums = new ArrayList<Value>();
          for (int i = 0; i < 4; i++) {
            sums.add(k.accumulator(Type.S32));
          }
          k.mma(Mma.F16, bits, bits.subList(0, 2), sums);
        },
        "AuthoringTest.java:\\d+: mma accumulates into variables of .f32, got a variable of .s32; create them with accumulator\\(\\)");
    refuses(
        k -> {
          var reals = Collections.nCopies(4, k.real(Type.F32, 1));
          var sums = new ArrayList<Value>();
          for (int i = 0; i < 4; i++) {
            sums.add(k.accumulator(Type.F32));
          }
          k.mma(Mma.F16, reals, reals.subList(0, 2), sums);
        },
        "AuthoringTest.java:\\d+: mma multiplies elements of .f16, got a value of .f32; convert it with to\\(\\), or reinterpret its bits with as\\(\\)");
    refuses(
        k -> {
          var zero = k.integer(0);
          var tile = k.shared(Type.F16, 16, 16, 24);
          var b = tile.load(OpaqueMatrix.Side.B, zero, zero, false);
          k.multiply(b, b, k.opaqueSum());
        },
        "AuthoringTest.java:\\d+: wmma multiplies a matrix A by a matrix B, got B and B");
    refuses(
        k ->
            k.shared(Type.F32, 16, 16, 20)
                .load(OpaqueMatrix.Side.A, k.integer(0), k.integer(0), false),
        "AuthoringTest.java:\\d+: wmma loads a tile of .f16 that is not swizzled, got a tile of .f32");
    refuses(
        k ->
            k.dynamicShared()
                .at(k.integer(0), Type.F32, 16, 16)
                .store(k.integer(0), k.integer(0), k.opaqueSum()),
        "AuthoringTest.java:\\d+: wmma stores a tile of .f32 that is not swizzled, got a swizzled tile of .f32");
    refuses(
        k ->
            k.shared(Type.F16, 1, 8, 8)
                .copyAsync(
                    k.integer(0),
                    k.integer(0),
                    16,
                    k.pointer("x", Type.F32),
                    k.thread(),
                    k.integer(16)),
        "AuthoringTest.java:\\d+: cannot copy elements of .f32 to a tile of .f16, since a copy does not convert; reinterpret the bits with as\\(\\)");
  }

  @Test
  void instructionsHaveTheirSourceLine() {
    var kernel =
        build(k ->
            k.pointer("x", Type.F32)
                .storeWhere(k.thread().lt(k.integer(1)), k.integer(0), k.real(Type.F32, 1)));
    assertThat(kernel.instructions().map(Statement::source))
        .allSatisfy(source -> assertThat(source.file()).isEqualTo("AuthoringTest.java"))
        .allSatisfy(source -> assertThat(source.line()).isPositive());
  }

  @Test
  void constantsAreFolded() {
    var kernel =
        build(k -> {
          var x = k.pointer("x", Type.F32);
          var i = k.integer(2).times(3).plus(k.integer(4)).times(k.integer(1));
          x.storeWhere(k.thread().lt(k.integer(1)), i, k.real(Type.F32, 1));
        });
    assertThat(Module.of(kernel).toString()).contains("st.global.f32 [%rd0+40]");
  }

  /** PTX uses ASCII digits in every locale. */
  @Test
  void textIsIndependentOfTheLocale() {
    var before = Locale.getDefault(Locale.Category.FORMAT);
    var plain = Module.of(withEverything()).toString();
    try {
      Locale.setDefault(Locale.Category.FORMAT, Locale.forLanguageTag("ar-EG-u-nu-arab"));
      assertThat("%d".formatted(7)).as("the locale has other digits").isNotEqualTo("7");
      assertThat(Module.of(withEverything()).toString()).isEqualTo(plain);
    } finally {
      Locale.setDefault(Locale.Category.FORMAT, before);
    }
  }

  private static Kernel withEverything() {
    return build(k -> {
      var x = k.pointer("x", Type.F32);
      var tile = k.shared(Type.F32, 4, 8, 12);
      var ring = k.dynamicShared().at(k.integer(64), Type.F16, 8, 64);
      ring.copyAsync(
          k.thread(), k.integer(8), 16, x.as(Type.F16), k.thread().times(4), k.integer(16));
      k.commitCopies();
      k.awaitCopies(0);
      k.barrier();
      var quad = tile.load(4, k.thread().rem(4), k.integer(4));
      x.storeWhere(k.thread().lt(k.integer(3)), k.thread().times(4), quad);
    });
  }

  private static Kernel build(Consumer<KernelBuilder> author) {
    var kernel = KernelBuilder.build("test", 256, author);
    Verifier.verify(Module.of(kernel));
    return kernel;
  }
}
