package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.check.Inliner;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Functions with too many call sites to inline: their bodies exist once, and calls jump to them.
 */
class SharedFunctionsTest {

  private static final String HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n";

  /** A kernel that adds a function of each element to it. */
  private static final String KERNEL =
      """
      .visible .entry k(.param .u64 in, .param .u64 out)
      {
          .reg .b64 %%rd<4>;
          .reg .b32 %%r<4>;
          .reg .pred %%p;
          .param .b32 given;
          .param .b32 got;
          ld.param.u64 %%rd0, [in];
          ld.param.u64 %%rd1, [out];
          mov.u32 %%r0, %%tid.x;
          mul.wide.u32 %%rd2, %%r0, 4;
          add.u64 %%rd0, %%rd0, %%rd2;
          add.u64 %%rd1, %%rd1, %%rd2;
          ld.global.u32 %%r1, [%%rd0];
          st.param.b32 [given], %%r1;
          call (got), %s, (given);
          ld.param.b32 %%r1, [got];
          and.b32 %%r2, %%r0, 1;
          setp.eq.u32 %%p, %%r2, 0;
          @%%p call (%%r1), %s, (%%r1);
          st.global.u32 [%%rd1], %%r1;
          ret;
      }
      """;

  @Test
  void nestedDoubleCallsExpandLinearly() {
    int deepest = 11;
    var module = parse(doubling(deepest) + KERNEL.formatted("f1", "f3"));
    assertThat(new Inliner(module).kernel("k").body().size()).isLessThan(16 * 1024);
    var in = new int[64];
    var expected = new int[64];
    for (int i = 0; i < 64; i++) {
      in[i] = 1000 * i;
      expected[i] = in[i] + added(1, deepest) + (i % 2 == 0 ? added(3, deepest) : 0);
    }
    assertThat(run(module, in)).isEqualTo(expected);
  }

  @Test
  void deepDoubleCallsExpandToFewStatements() {
    var module = parse(doubling(25) + KERNEL.formatted("f1", "f3"));
    assertThat(new Inliner(module).kernel("k").body().size()).isLessThan(64 * 1024);
  }

  @Test
  void runsAChainOfTwoThousandCalls() {
    int length = 2000;
    var text = new StringBuilder();
    for (int i = length; i > 0; i--) {
      text.append(
          function(
              i,
              i == length
                  ? ""
                  : "call (got), f%d, (given); ld.param.b32 x, [got];".formatted(i + 1)));
    }
    var in = new int[32];
    var expected = new int[32];
    int sum = length * (length + 1) / 2;
    for (int i = 0; i < 32; i++) {
      expected[i] = sum + (i % 2 == 0 ? sum - 1 : 0);
    }
    assertThat(run(parse(text + KERNEL.formatted("f1", "f2")), in)).isEqualTo(expected);
  }

  /**
   * Returns functions {@code f1} to {@code fn}: each adds its number and twice the result of the
   * next.
   */
  private static String doubling(int deepest) {
    var text = new StringBuilder();
    for (int i = deepest; i > 0; i--) {
      var call = "call (got), f%d, (given); ld.param.b32 x, [got];".formatted(i + 1);
      text.append(function(i, i == deepest ? "" : call + " st.param.b32 [given], x; " + call));
    }
    return text.toString();
  }

  private static int added(int first, int deepest) {
    return first == deepest ? first : first + 2 * added(first + 1, deepest);
  }

  private static String function(int number, String calls) {
    return """
    .func (.param .b32 r) f%d(.param .b32 a)
    {
        .reg .b32 x;
        .param .b32 given;
        .param .b32 got;
        ld.param.b32 x, [a];
        add.u32 x, x, %d;
        st.param.b32 [given], x;
        %s
        st.param.b32 [r], x;
        ret;
    }
    """
        .formatted(number, number, calls);
  }

  private static Module parse(String text) {
    return Parser.parse(HEAD + text, "shared.ptx");
  }

  private static int[] run(Module module, int[] in) {
    Verifier.verify(module);
    var out = new int[in.length];
    long bytes = 4L * in.length;
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT);
        var stream = device.openStream();
        var source = device.allocate(bytes);
        var target = device.allocate(bytes)) {
      stream.upload(MemorySegment.ofArray(in), source, 0);
      stream.launch(
          new Launch(
              device.load(module, "k"),
              Dim3.of(1),
              Dim3.of(in.length),
              0,
              List.of(Argument.of(source), Argument.of(target))));
      stream.download(target, 0, MemorySegment.ofArray(out));
      stream.synchronize();
    }
    return out;
  }
}
