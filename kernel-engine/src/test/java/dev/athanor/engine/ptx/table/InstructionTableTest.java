package dev.athanor.engine.ptx.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.meaning.LaneSemantics;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

class InstructionTableTest {

  /** The targets that only one architecture has, which together support every row. */
  static final List<Target> ALL_ARCHITECTURES =
      Stream.of("sm_90a", "sm_100a", "sm_120a").map(Target::of).toList();

  /** Minimum counts, so that tests do not pass vacuously; raise them as the table grows. */
  private static final int FEWEST_FORMS = 1176;

  private static final int FEWEST_SPELLINGS = 31_553;

  private static final Version NEWEST = new Version(9, 0);

  @Test
  void everySpellingIsFoundAndHasALaneFunction() {
    var spellings = TableWalk.spellings();
    assertThat(InstructionTable.all()).hasSizeGreaterThanOrEqualTo(FEWEST_FORMS);
    assertThat(spellings).hasSizeGreaterThanOrEqualTo(FEWEST_SPELLINGS);
    for (var instruction : spellings) {
      if (instruction.form().semantics() instanceof Semantics.Pure) {
        assertThat(LaneSemantics.of(instruction.form(), instruction.modifiers()))
            .as(instruction.toString())
            .isNotEmpty();
      }
    }
  }

  @ParameterizedTest
  @FieldSource("ALL_ARCHITECTURES")
  void everySpellingSurvivesARoundTrip(Target target) {
    var module = TableWalk.module(NEWEST, target);
    var text = module.toString();
    var again = Parser.parse(text, "walk.ptx");
    assertThat(again.toString()).isEqualTo(text);
    var before = module.kernels().getFirst().instructions().toList();
    long spellings =
        TableWalk.spellings().stream()
            .filter(i -> i.form().isSupported(NEWEST, target, i.modifiers()))
            .count();
    assertThat(before).hasSizeGreaterThanOrEqualTo((int) spellings);
    assertThat(again.kernels().getFirst().instructions().toList()).isEqualTo(before);
    assertThat(Verifier.faults(module)).isEmpty();
    assertThat(Verifier.faults(again)).isEmpty();
  }

  @Test
  void modifiersCanHaveAnyOrder() {
    for (var instruction : TestTier.sample(TableWalk.spellings(), 13)) {
      var words = new java.util.ArrayList<>(instruction.modifiers().list());
      // the order of types, of the layouts of two matrices and of two priorities
      // is significant
      words.removeIf(word -> isOrdered(instruction, word));
      Collections.reverse(words);
      instruction.modifiers().list().stream()
          .filter(word -> isOrdered(instruction, word))
          .forEach(words::add);
      assertThat(instruction.form().match(words))
          .as(instruction.toString())
          .contains(instruction.modifiers());
    }
  }

  private static boolean isOrdered(Statement.Instruction instruction, Modifier word) {
    return word instanceof Type
        || word instanceof Modifier.Layout
        || (instruction.form().mnemonic().equals("createpolicy")
            && word.word().startsWith("L2::evict"));
  }

  @Test
  void spellingsAreUnique() {
    for (var instruction : TestTier.sample(TableWalk.spellings(), 13)) {
      var rows =
          InstructionTable.all().stream()
              .filter(row -> row.mnemonic().equals(instruction.form().mnemonic()))
              .filter(row ->
                  row.match(instruction.modifiers().list())
                      .filter(m ->
                          row.acceptsShapes(instruction.operands(), m)
                              && row.acceptsClasses(instruction.operands(), m))
                      .isPresent())
              .toList();
      assertThat(rows).as(instruction.toString()).containsExactly(instruction.form());
    }
  }

  @Test
  void errorsGiveTheSyntax() {
    assertThatThrownBy(() -> InstructionTable.find("mul.s32", List.of()))
        .hasMessageContaining(
            "unknown instruction \"mul.s32\"; the syntax of mul is mul.lo.int d, a, b or mul.hi.<s32|s64> d, a, b or");
    assertThatThrownBy(() -> InstructionTable.find("frobnicate.f32", List.of()))
        .hasMessageStartingWith(
            "unknown instruction \"frobnicate\"; supported are abs, activemask, add, addc, and, applypriority, atom,");
    assertThatThrownBy(() ->
            InstructionTable.find("fma.rn.f32", List.of(new Register(RegisterClass.F32, "%f0"))))
        .hasMessage(
            "fma.rn.f32 takes (d = a .f32 register, a = a .f32 register or literal, b = a .f32 register or literal,"
                + " c = a .f32 register or literal), not (%f0)");
  }

  @Test
  void errorsNameUnsupportedMatrixProducts() {
    assertThatThrownBy(() ->
            InstructionTable.find("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", List.of()))
        .hasMessage(
            "mma.m8n8k4 of .f16 is not supported because only Volta has it; use m16n8k8 or m16n8k16");
    assertThatThrownBy(() ->
            InstructionTable.find(
                "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", List.of()))
        .hasMessage("mma.sp is not supported; sparse products are out of scope");
    for (var opcode :
        List.of(
            "tcgen05.cp.cta_group::1.128x256b",
            "tcgen05.mma.cta_group::2.kind::f16",
            "tcgen05.mma.cta_group::1.kind::mxf4.block_scale",
            "tcgen05.ld.sync.aligned.16x32bx2.x1.b32")) {
      assertThatThrownBy(() -> InstructionTable.find(opcode, List.of()))
          .hasMessage(
              opcode
                  + " is not supported; of tcgen05, copies, shifts, pairs of blocks, sparse,"
                  + " weight-stationary and block-scaled products and the shape 16x32bx2 are out of scope");
    }
    assertThatThrownBy(() -> InstructionTable.find("tex.2d.v4.f32.s32", List.of()))
        .hasMessage("tex is not supported; textures and surfaces are out of scope");
    assertThatThrownBy(() ->
            InstructionTable.find("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32", List.of()))
        .hasMessageStartingWith(
            "unknown instruction \"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32\"; the syntax of mma is mma.sync");
  }

  @Test
  void rejectsUnsuitableLiterals() {
    var rs = new Register(RegisterClass.B16, "%rs0");
    // ptxas truncates integers
    assertThat(move("mov.u16", rs, Immediate.of(70_000)).toString())
        .isEqualTo("mov.u16 %rs0, 4464;");
    assertThatThrownBy(
            () -> move("mov.f32", new Register(RegisterClass.F32, "%f0"), Immediate.of(1)))
        .hasMessage("1 is not a .f32 literal; write it as 0f3F800000 or 1.0");
    assertThat(move("mov.s16", rs, Immediate.of(-1)).toString()).isEqualTo("mov.s16 %rs0, -1;");
    assertThat(move("mov.u16", rs, Immediate.of(-1)).toString()).isEqualTo("mov.u16 %rs0, 65535;");
    var address = new Operand.Address(new Register(RegisterClass.B64, "%rd0"), 0);
    assertThatThrownBy(() ->
            InstructionTable.instruction(
                "cp.async.ca.shared.global",
                List.of(address, address, Immediate.of(5)),
                null,
                Source.UNKNOWN))
        .hasMessage("operand size must be one of the literals [4, 8, 16], got 5");
  }

  private static Statement.Instruction move(String opcode, Register d, Immediate a) {
    return InstructionTable.instruction(opcode, List.of(d, a), null, Source.UNKNOWN);
  }
}
