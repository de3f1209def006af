package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Verifier;
import java.util.Locale;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AuthoringTest {

  @Test
  void indexArithmeticIsWrittenOnceAndOutsideOfLoops() {
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
    // one address in the loop serves both loads, the second by its offset
    assertThat(text.substring(text.indexOf("$loop0:"), text.indexOf("bra $loop0")))
        .containsOnlyOnce("mad.wide.s32")
        .contains("+4];");
  }

  @Test
  void whatDependsOnAVariableIsComputedAgain() {
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
  void aConditionIsNotKeptOverALoop() {
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
  void whatALoopMadeStaysInIt() {
    assertThatThrownBy(() ->
            build(k -> {
              var x = k.pointer("x", Type.F32);
              var kept = new Value[1];
              k.loop(k.integer(0), k.integer("n"), 1, i -> kept[0] = x.load(i));
              x.storeWhere(k.thread().lt(k.integer(1)), k.integer(0), kept[0]);
            }))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(
            "AuthoringTest.java:\\d+: %f\\d+ was made in a loop or condition that has ended; keep it in a variable");
  }

  @Test
  void whatAConditionMadeStaysInIt() {
    var message =
        "AuthoringTest.java:\\d+: %f\\d+ was made in a loop or condition that has ended; keep it in a variable";
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
  void blocksHaveOneThreadToAThousand(int width, int height, String block) {
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

  /** A block need be no power of two; only exchanges between lanes ask for whole warps. */
  @Test
  void aBlockMayHaveAHundredThreads() {
    var kernel =
        KernelBuilder.build(
            "test", 100, k -> k.pointer("x", Type.S32).store(k.thread(), k.thread().value()));
    Verifier.verify(Module.of(kernel));
    assertThat(kernel.maxThreads()).isEqualTo(100);
  }

  @Test
  void unknownInstructionsAreRefusedWithThoseThatThereAre() {
    refuses(
        k -> k.compute(Type.F32, "sinh.f32", k.real(Type.F32, 1)),
        "AuthoringTest.java:\\d+: no instruction \"sinh\"; the table has .*, sin, .*, tanh, .*");
    refuses(
        k -> k.compute(Type.F32, "sin.f32", k.real(Type.F32, 1)),
        "AuthoringTest.java:\\d+: no instruction \"sin.f32\"; sin is written sin.approx.*");
    refuses(
        k -> k.compute(Type.F32, "tanh.approx.f32"),
        "AuthoringTest.java:\\d+: tanh.approx.f32 takes \\(d = .*, a = .*\\), not \\(%f0\\)");
  }

  @Test
  void integersAreNotMultipliedAsFloats() {
    refuses(
        k -> {
          var x = k.thread().value();
          k.compute(Type.S32, "fma.rn.s32", x, x, x);
        },
        "AuthoringTest.java:\\d+: no instruction \"fma.rn.s32\"; fma is written fma.*f32.*");
    refuses(
        k -> {
          var x = k.thread().value();
          k.compute(Type.F32, "fma.rn.f32", x, x, x);
        },
        "AuthoringTest.java:\\d+: operand a of fma.rn.f32 is .f32, got an integer, .s32; convert it, or say with as\\(\\) that its bits are meant");
    build(k -> {
      var x = k.thread().value().as(Type.F32);
      k.pointer("x", Type.F32).store(k.thread(), k.compute(Type.F32, "fma.rn.f32", x, x, x));
    });
  }

  @Test
  void loopsGoForward() {
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
  void sharedMemoryHasElements(int rows, int columns, int pitch) {
    refuses(
        k -> k.shared(Type.F32, rows, columns, pitch),
        "a tile in shared memory has at least 1 row and 1 column, as many columns as its pitch or fewer, and less than 2 GiB; got %d rows of %d columns of .f32, %d elements apart"
            .formatted(rows, columns, pitch));
  }

  @Test
  void moreStaticSharedMemoryThanEveryKernelMayHaveIsRefused() {
    build(k -> k.shared(Type.F32, 64, 192, 192));
    refuses(
        k -> k.shared(Type.F32, 64, 192, 193),
        ".*: kernel test has 49408 bytes of static shared memory, 49152 are the most; make an array dynamic");
    // together beyond an int, which is no way around the limit
    refuses(
        k -> {
          k.shared(Type.F32, 16384, 32767, 32767);
          k.shared(Type.F32, 16384, 32767, 32767);
        },
        ".*: kernel test has 2147483647 bytes of static shared memory, 49152 are the most; make an array dynamic");
  }

  @Test
  void parametersAndConstantsAreOfKindsThatThereAre() {
    refuses(
        k -> k.real("x", Type.S32),
        "a real number is .f32 or .f64, got .s32; smaller ones are loaded and widened");
    refuses(
        k -> k.real(Type.F16, 1),
        "a real number is .f32 or .f64, got .f16; smaller ones are loaded and widened");
    refuses(k -> k.pointer("x", Type.PRED), "elements in memory have whole bytes, got .pred");
    refuses(k -> k.shared(Type.PRED, 1, 1, 1), "elements in memory have whole bytes, got .pred");
    refuses(
        k -> {
          k.integer("n");
          k.wide("n");
        },
        ".*kernel test has a parameter n, a name that is already taken");
  }

  @Test
  void everyInstructionNamesTheLineThatWroteIt() {
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

  /** Where people write other digits, PTX still has its own. */
  @Test
  void theTextIsTheSameInEveryLocale() {
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
      ring.copyAsync(k.thread(), k.integer(8), 16, x, k.thread().times(4), k.integer(16));
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
