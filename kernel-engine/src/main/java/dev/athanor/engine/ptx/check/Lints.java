package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.flow.PendingProducts;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Finds code that is legal but suspicious. */
record Lints(Kernel code) {

  /** Reports suspicious statements. */
  void check(BiConsumer<Statement, String> warnings) {
    var body = code.body();
    for (int at = 0; at < body.size(); at++) {
      if (body.get(at) instanceof Instruction i) {
        checkAddresses(i, warnings);
        if (i.form().semantics() instanceof Semantics.Branch) {
          checkBranch(at, i, warnings);
        }
      }
    }
    PendingProducts.earlyUses(code)
        .forEach((at, product) ->
            warnings.accept(
                body.get(at),
                ("uses registers of the product at %s before wgmma.wait_group;"
                        + " ptxas inserts the wait, which serializes products")
                    .formatted(product.source())));
  }

  /** Addresses of shared memory have 32 bits; wider ones are truncated (PTX ISA 6.4.1). */
  private static void checkAddresses(Instruction i, BiConsumer<Statement, String> warnings) {
    for (int n = 0; n < i.operands().size(); n++) {
      var space = i.form().operands().get(n).space(i.modifiers());
      if (space != null
          && space.isShared()
          && i.operands().get(n) instanceof Operand.Address address
          && address.base() instanceof Register base
          && base.registerClass() == RegisterClass.B64) {
        warnings.accept(
            i,
            "has a 64-bit address of shared memory, which is truncated to 32 bits; use a .b32 register");
      }
    }
  }

  private void checkBranch(int at, Instruction branch, BiConsumer<Statement, String> warnings) {
    var target = branch.operands().getFirst().toString();
    int label = indexOf(target);
    if (label > at
        && code.body().subList(at + 1, label).stream().allMatch(Label.class::isInstance)) {
      warnings.accept(
          branch,
          "jumps to %s, which is the next statement; to repeat code, jump to a label before it"
              .formatted(target));
    }
    if (label >= 0 && label < at && hasNoEffect(label, at)) {
      warnings.accept(
          branch,
          "closes a loop without effect: it accesses no memory, and no code outside reads its results");
    }
  }

  private int indexOf(String label) {
    var body = code.body();
    return IntStream.range(0, body.size())
        .filter(at -> body.get(at) instanceof Label l && l.name().equals(label))
        .findFirst()
        .orElse(-1);
  }

  /** Whether the loop from one statement to another has no observable effect. */
  private boolean hasNoEffect(int first, int last) {
    var inside = instructions(IntStream.rangeClosed(first, last)).toList();
    var outside =
        IntStream.concat(IntStream.range(0, first), IntStream.range(last + 1, code.body().size()));
    var read = instructions(outside).flatMap(i -> i.reads().stream()).toList();
    return inside.stream().allMatch(Lints::hasNoEffect)
        && inside.stream().flatMap(i -> i.writes().stream()).noneMatch(read::contains);
  }

  private Stream<Instruction> instructions(IntStream statements) {
    return statements
        .mapToObj(code.body()::get)
        .filter(Instruction.class::isInstance)
        .map(Instruction.class::cast);
  }

  /** Whether an instruction has no observable effect; a loop that reads a clock waits. */
  private static boolean hasNoEffect(Instruction i) {
    return switch (i.form().semantics()) {
      case Semantics.Branch _ -> true;
      case Semantics.Pure pure ->
          pure.carry().equals(Semantics.Carry.NONE)
              && i.operands().stream().noneMatch(Lints::isClock);
      case Semantics.Warp _,
          Semantics.Converged _,
          Semantics.ClusterRank _,
          Semantics.Access _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Synchronization _,
          Semantics.TensorMapUpdate _,
          Semantics.IndexedBranch _,
          Semantics.Call _,
          Semantics.RuntimeCall _,
          Semantics.Exit _,
          Semantics.Trap _,
          Semantics.NoEffect _ ->
          false;
    };
  }

  private static boolean isClock(Operand operand) {
    return operand instanceof SpecialRegister s
        && (s.name().startsWith("CLOCK") || s.name().startsWith("GLOBALTIMER"));
  }
}
