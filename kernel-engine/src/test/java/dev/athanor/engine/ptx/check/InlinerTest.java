package dev.athanor.engine.ptx.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Samples;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.text.Parser;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InlinerTest {

  private static final String HEAD =
      """
      .version 8.0
      .target sm_80
      .address_size 64
      """;

  @Test
  void bodiesReplaceCalls() {
    var module =
        parse(
            """
            .func (.param .b32 d) twice(.param .b32 a)
            {
                .local .align 4 .b8 scratch[4];
                .reg .pred %p;
                .reg .b32 %r<2>;
                ld.param.b32 %r0, [a];
                setp.eq.s32 %p, %r0, 0;
                @%p bra $zero;
                add.s32 %r1, %r0, %r0;
                st.param.b32 [d], %r1;
                @!%p ret;
            $zero:
                st.param.b32 [d], %r0;
                ret;
            }
            .visible .entry k(.param .u32 n)
            {
                .param .b32 given;
                .param .b32 got;
                .reg .b32 %r<2>;
                ld.param.u32 %r0, [n];
                st.param.b32 [given], %r0;
                call (got), twice, (given);
                ld.param.b32 %r1, [got];
                call (got), twice, (given);
            }
            """);
    var kernel = kernel(module);
    assertThat(kernel.locals())
        .extracting(Variable::name)
        .containsExactly("given", "got", "scratch$1", "scratch$2");
    assertThat(kernel.locals()).allMatch(v -> v.space() == Modifier.Space.LOCAL);
    assertThat(lines(kernel))
        .startsWith(
            "ld.param.u32 %r0, [n];",
            "st.local.b32 [given], %r0;",
            "ld.local.b32 %r0$1, [given];",
            "setp.eq.s32 %p$1, %r0$1, 0;",
            "@%p$1 bra $zero$1;",
            "add.s32 %r1$1, %r0$1, %r0$1;",
            "st.local.b32 [got], %r1$1;",
            "@!%p$1 bra twice$end;",
            "$zero$1:",
            "st.local.b32 [got], %r0$1;",
            "twice$end:",
            "$called:",
            "ld.local.b32 %r1, [got];",
            "ld.local.b32 %r0$2, [given];")
        .noneMatch(line -> line.contains("call ") || line.contains("ret;"));
    assembles(module, kernel);
  }

  @Test
  void copiesKeepSourcePositions() {
    var module =
        parse(
            """
            .func f()
            {
                .reg .b32 %r<1>;
                mov.u32 %r0, 7;
                ret;
            }
            .visible .entry k()
            {
                call f;
                ret;
            }
            """);
    var clone = kernel(module).instructions().findFirst().orElseThrow();
    assertThat(clone).hasToString("mov.u32 %r0$1, 7;");
    assertThat(clone.source().line()).isEqualTo(7);
  }

  @Test
  void passesRegistersAndVariables() {
    var module =
        parse(
            """
            .func (.reg .b32 d, .param .b32 e) f(.reg .b32 a, .param .f32 b)
            {
                .reg .f32 %f<1>;
                ld.param.f32 %f0, [b];
                add.s32 a, a, 1;
                mov.b32 d, a;
                st.param.f32 [e], %f0;
            }
            .visible .entry k()
            {
                .param .b32 v;
                .reg .pred %p0;
                .reg .b32 %r<4>;
                mov.u32 %r0, 1;
                st.param.b32 [v], %r0;
                setp.eq.s32 %p0, %r0, 1;
                call (%r1, v), f, (%r0, 1.0);
                @%p0 call (%r2, %r3), f, (v, v);
                call (_, _), f, (5, 0f3F800000);
            }
            """);
    var kernel = kernel(module);
    assertThat(lines(kernel))
        .containsSubsequence(
            "mov.b32 a$1, %r0;",
            "st.local.b32 [b$1], 1065353216;",
            "ld.local.f32 %f0$1, [b$1];",
            "add.s32 a$1, a$1, 1;",
            "mov.b32 d$1, a$1;",
            "st.local.f32 [v], %f0$1;",
            "mov.b32 %r1, d$1;",
            "@!%p0 bra $called$1;",
            "ld.local.b32 a$2, [v];",
            "ld.local.f32 %f0$2, [v];",
            "st.local.f32 [e$2], %f0$2;",
            "mov.b32 %r2, d$2;",
            "ld.local.b32 %r3, [e$2];",
            "$called$1:",
            "mov.b32 a$3, 5;");
    assembles(module, kernel);
  }

  @Test
  void copiesUseTheFunctionsSharedArrays() {
    var module =
        parse(
            """
            .shared .align 4 .b8 common[4];
            .func f()
            {
                .shared .align 4 .b8 own[8];
                .reg .b32 %r<1>;
                ld.shared.b32 %r0, [own+4];
                st.shared.b32 [common], %r0;
            }
            .visible .entry k()
            {
                .shared .align 4 .b8 own[16];
                .reg .b32 %r<1>;
                ld.shared.b32 %r0, [own+12];
                ld.shared.b32 %r0, [common];
                call f;
                call f;
            }
            """);
    var kernel = kernel(module);
    assertThat(kernel.shared())
        .extracting(Kernel.SharedArray::name)
        .containsExactly("own", "common", "own$1");
    assertThat(kernel.staticSharedBytes()).isEqualTo(16 + 4 + 8);
    assertThat(lines(kernel)).filteredOn(l -> l.contains("[own$1+4]")).hasSize(2);
    assembles(module, kernel);
  }

  @Test
  void indirectCallsCompareAddresses() {
    var module =
        parse(
            """
            .func (.param .b32 d) f(.param .b32 a) { st.param.b32 [d], 1; }
            .func (.param .b32 d) g(.param .b32 a) { st.param.b32 [d], 2; }
            .func (.param .b32 d) neverPointedTo(.param .b32 a) { st.param.b32 [d], 3; }
            .func (.param .b64 d) another(.param .b32 a) { st.param.b64 [d], 4; }
            .global .u64 table[3] = {f, another, 5};
            .visible .entry k()
            {
                .param .b32 x;
                .param .b32 y;
                .reg .b64 %rd<1>;
                st.param.b32 [x], 1;
                mov.u64 %rd0, g;
                prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
                call (y), %rd0, (x), prototype;
                targets: .calltargets neverPointedTo;
                call (y), %rd0, (x), targets;
            }
            """);
    var inliner = new Inliner(module);
    var kernel = inliner.kernel("k");
    long f = Inliner.FIRST_ADDRESS;
    long g = f + Inliner.ADDRESS_STEP;
    assertThat(lines(kernel))
        .containsExactly(
            "st.local.b32 [x], 1;",
            "mov.u64 %rd0, " + g + ";",
            "setp.ne.u64 %other, %rd0, " + f + ";",
            "@%other bra $not_f;",
            "st.local.b32 [y], 1;",
            "f$end:",
            "bra $called;",
            "$not_f:",
            "setp.ne.u64 %other, %rd0, " + g + ";",
            "@%other bra $not_g;",
            "st.local.b32 [y], 2;",
            "g$end:",
            "bra $called;",
            "$not_g:",
            "trap;",
            "$called:",
            "setp.ne.u64 %other$1, %rd0, " + inliner.address("neverPointedTo") + ";",
            "@%other$1 bra $not_neverPointedTo;",
            "st.local.b32 [y], 3;",
            "neverPointedTo$end:",
            "bra $called$1;",
            "$not_neverPointedTo:",
            "trap;",
            "$called$1:");
    assertThat(inliner.variables().getFirst().initializers())
        .extracting(v -> v.number().bits())
        .containsExactly(f, inliner.address("another"), 5L);
    assembles(module, kernel);
    assertThatThrownBy(() -> inliner.address("h"))
        .hasMessage("the module has no function h; it has [f, g, neverPointedTo, another]");
  }

  @Test
  void indexedBranchesCompareIndices() {
    var module =
        parse(
            """
            .visible .entry k(.param .u32 n)
            {
                .reg .b32 %r<1>;
                ld.param.u32 %r0, [n];
                cases: .branchtargets $a, $b;
                brx.idx %r0, cases;
            $a:
                bar.sync 0;
            $b:
                ret;
            }
            """);
    var kernel = kernel(module);
    assertThat(lines(kernel))
        .containsExactly(
            "ld.param.u32 %r0, [n];",
            "setp.eq.u32 %case, %r0, 0;",
            "@%case bra $a;",
            "setp.eq.u32 %case, %r0, 1;",
            "@%case bra $b;",
            "trap;",
            "$cases:",
            "$a:",
            "bar.sync 0;",
            "$b:",
            "ret;");
    assembles(module, kernel);
  }

  @Test
  void rejectsRecursionAndMissingBodies() {
    var recursive =
        parse(
            """
            .func g();
            .func f() { call g; }
            .func g() { call f; }
            .visible .entry k() { call f; }
            """);
    assertThatThrownBy(() -> kernel(recursive))
        .hasMessage(
            "module.ptx:6:13: call f; is recursive, which is not supported: f calls g calls f");
    var foreign =
        parse(
            """
            .extern .func foreign();
            .visible .entry k() { call foreign; }
            """);
    assertThatThrownBy(() -> kernel(foreign))
        .hasMessage(
            "module.ptx:5:23: call foreign; calls foreign, which has no body in the module; define it,"
                + " or call a function of the device runtime: vprintf, __assertfail, malloc, free");
    var pointed =
        parse(
            """
            .func f()
            {
                .reg .b64 %rd<1>;
                mov.u64 %rd0, f;
                any: .callprototype _ ();
                call %rd0, any;
            }
            .visible .entry k() { call f; }
            """);
    assertThatThrownBy(() -> kernel(pointed)).hasMessageContaining("f calls f");
  }

  @Test
  void rejectsMismatchedCalls() {
    var module =
        parse(
            """
            .func f(.param .b32 a) { ret; }
            .visible .entry k() { call f; }
            """);
    assertThatThrownBy(() -> kernel(module))
        .hasMessageEndingWith(
            "has 0 arguments and 0 results, but f has 1 parameters and 0 results");
    assertThatThrownBy(() -> new Inliner(module).kernel("q"))
        .hasMessage("the module has no kernel q");
  }

  @Test
  void keepsKernelsWithoutCalls() {
    var module = parse(".visible .entry k() { ret; }");
    assertThat(new Inliner(module).kernel("k")).isSameAs(module.kernels().getFirst());
    assertThat(new Inliner(module).variables()).isEqualTo(module.variables());
  }

  @ParameterizedTest
  @CsvSource({
    "k08_divergent.sm_80, dispatch, 24",
    "k12_math.fast.sm_80, mathd, 1",
    "k12_math.sm_80, mathd, 1"
  })
  void inlinedNvccKernelsAssemble(String sample, String name, int clones) {
    var module = Parser.parse(Samples.text(sample + ".ptx"), sample, Samples::anyInstruction);
    var inliner = new Inliner(module);
    var kernel = inliner.kernel(name);
    assertThat(kernel.instructions().map(Instruction::toString))
        .noneMatch(i -> i.startsWith("call"));
    assertThat(lines(kernel)).filteredOn(l -> l.matches(".*\\$end(\\$\\d+)?:")).hasSize(clones);
    assembles(
        new Module(new Version(8, 0), module.target(), inliner.variables(), List.of(), List.of()),
        kernel);
  }

  private static Module parse(String text) {
    return Parser.parse(HEAD + text, "module.ptx", Samples::anyInstruction);
  }

  private static Kernel kernel(Module module) {
    return new Inliner(module).kernel("k");
  }

  private static List<String> lines(Kernel kernel) {
    return kernel.body().stream().map(Statement::toString).collect(Collectors.toList());
  }

  /** Checks that NVIDIA's compiler accepts the kernel and that it survives a round trip. */
  private static void assembles(Module module, Kernel kernel) {
    var variables =
        module.functions().isEmpty() ? module.variables() : new Inliner(module).variables();
    var alone =
        new Module(module.version(), module.target(), variables, List.of(), List.of(kernel));
    var text = alone.toString();
    assertThat(Parser.parse(text, "again.ptx", Samples::anyInstruction)).hasToString(text);
    var assembler = Assemblers.library();
    assertThat(assembler.assemble(text, module.target()).cubin()).isNotEmpty();
  }
}
