package dev.athanor.engine.ptx.legal;

import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/** The instructions that have a replacement on older targets. */
final class Replacements {

  private static final Target VOLTA = new Target(70, false);

  /**
   * A replacement.
   *
   * @param opcode the instructions that it replaces
   * @param target the oldest target that runs it
   * @param write writes the instructions that replace the {@linkplain Sequence#given given} one
   */
  private record Replacement(Pattern opcode, Target target, Consumer<Sequence> write) {

    static Replacement of(String opcode, Consumer<Sequence> write) {
      return of(opcode, VOLTA, write);
    }

    static Replacement of(String opcode, Target target, Consumer<Sequence> write) {
      return new Replacement(Pattern.compile(opcode.replace(".", "\\.")), target, write);
    }
  }

  /**
   * In descending order of targets. Products of integers that saturate are missing, since the sum
   * of a part of K would saturate too.
   */
  private static final List<Replacement> ALL =
      List.of(
          // before sm_90, launches begin after the previous one has ended
          Replacement.of("griddepcontrol.(wait|launch_dependents)", _ -> {}),
          Replacement.of("cvt.rn.bf16.f32", Arithmetic::toBf16),
          Replacement.of("cvt.rn.bf16x2.f32", out -> Arithmetic.pack(out, Arithmetic::bf16)),
          Replacement.of("cvt.rn.f16x2.f32", out -> Arithmetic.pack(out, Arithmetic::f16)),
          Replacement.of("cvt.rna.tf32.f32", Arithmetic::toTf32),
          Replacement.of("cvt.rn.f16x2.e4m3x2", Arithmetic::fromE4m3),
          Replacement.of("cvt.rn.f16x2.e5m2x2", Arithmetic::fromE5m2),
          Replacement.of("fma.rn.bf16x2", Arithmetic::fmaOfBf16Pairs),
          Replacement.of("max.NaN.f32", out -> Arithmetic.orNaN(out, "max.f32")),
          Replacement.of("min.NaN.f32", out -> Arithmetic.orNaN(out, "min.f32")),
          Replacement.of("cp.async.c[ag].shared\\S*.global\\S*", Copies::copy),
          // a copy is complete when it has been issued
          Replacement.of("cp.async.(commit_group|wait_group|wait_all)", _ -> {}),
          Replacement.of("ldmatrix.sync.aligned.m8n8.x[124].shared.b16", Copies::loadMatrices),
          Replacement.of(
              "ldmatrix.sync.aligned.m8n8.x[124].trans.shared.b16", Copies::loadTransposed),
          Replacement.of(
              "mma.sync.aligned.m16n8k16.row.col.f(16|32).f16.f16.f(16|32)",
              Target.SM_75,
              Products::halves),
          Replacement.of(
              "mma.sync.aligned.m16n8k\\d+.row.col.s32.[su][48].[su][48].s32",
              Target.SM_75,
              Products::quarters),
          Replacement.of(
              "mma.sync.aligned.m16n8k16.row.col.f32.(f16.f16|bf16.bf16).f32", Products::onLanes),
          Replacement.of("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", Products::onLanes),
          Replacement.of(
              "mma.sync.aligned.m16n8k(16|32).row.col.s32.[su]8.[su]8.s32", Products::onLanes));

  private Replacements() {}

  /** Returns the writer of the replacement of an instruction, if it has one on a target. */
  static Optional<Consumer<Sequence>> of(Instruction given, Target target) {
    return ALL.stream()
        .filter(each -> target.canRun(each.target) && each.opcode.matcher(given.opcode()).matches())
        .map(Replacement::write)
        .findFirst();
  }
}
