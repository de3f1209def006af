package dev.athanor.engine.profile;

import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Semantics;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A model of the bytes that a warp has requested from global memory and not yet received. By
 * Little's law they limit its share of the memory bandwidth: bytes in flight divided by latency.
 *
 * <p>The model is generous, so that the bound stays a lower bound: all warps request their bytes at
 * once, all requests go to DRAM, and each is a whole number of sectors.
 *
 * <ul>
 *   <li>Loads: those that are executed most often, that is, an iteration of the main loop, or all
 *       loads of a kernel without one. A warp uses what it loads before the next iteration. If the
 *       assembler unrolled the loop, its machine code has more loads, which are all in flight.
 *   <li>{@code cp.async}: the copies of an iteration, times the groups that its wait leaves pending
 *       and the one that is committed next.
 *   <li>Bulk copies: the shared memory of the block, which is their destination.
 * </ul>
 */
final class BytesInFlight {

  private BytesInFlight() {}

  /**
   * Returns the bytes of an average warp; 0 if it loads nothing.
   *
   * @param code for loops that the assembler unrolled; null = as in PTX
   */
  static double perWarp(Profile profile, @Nullable KernelCode code) {
    var loads = mostFrequent(profile, Semantics.Load.class);
    var copies = mostFrequent(profile, Semantics.AsyncCopy.class);
    return bytes(loads) * unrolled(loads, InstructionClass.LDG, code)
        + bytes(copies) * groups(profile)
        + bulk(profile);
  }

  /** Returns the rows of a kind that access global memory and are executed most often. */
  private static List<Row> mostFrequent(Profile profile, Class<? extends Semantics> kind) {
    var rows =
        profile.rows().stream()
            .filter(row -> kind.isInstance(row.instruction().form().semantics()))
            .filter(row -> row.global().requests() > 0)
            .toList();
    long most = rows.stream().mapToLong(Row::executed).max().orElse(0);
    return rows.stream().filter(row -> row.executed() == most).toList();
  }

  private static double bytes(List<Row> rows) {
    return rows.stream()
        .mapToDouble(row -> (double) row.global().sectors() * Sectors.SECTOR / row.executed())
        .sum();
  }

  private static double unrolled(List<Row> rows, InstructionClass kind, @Nullable KernelCode code) {
    if (code == null || rows.isEmpty()) {
      return 1;
    }
    int machine =
        code.loops().stream().mapToInt(loop -> loop.instructions().of(kind)).max().orElse(0);
    return Math.max(1, (double) machine / rows.size());
  }

  private static long groups(Profile profile) {
    return 1
        + profile.rows().stream()
            .filter(row -> row.executed() > 0)
            .map(Row::instruction)
            .filter(each -> each.form().semantics() instanceof Semantics.WaitGroup)
            .flatMap(each -> each.operands().stream())
            .mapToLong(operand -> operand instanceof Immediate pending ? pending.bits() : 0)
            .max()
            .orElse(0);
  }

  private static double bulk(Profile profile) {
    boolean copies =
        profile.rows().stream()
            .filter(row -> row.executed() > 0)
            .map(row -> row.instruction().form().semantics())
            .anyMatch(
                each -> each instanceof Semantics.BulkCopy || each instanceof Semantics.TensorCopy);
    return copies ? (double) profile.sharedBytes() / profile.warpsPerBlock() : 0;
  }
}
