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
