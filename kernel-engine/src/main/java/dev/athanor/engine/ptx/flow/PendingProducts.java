package dev.athanor.engine.ptx.flow;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Finds the statements that use registers of a {@code wgmma} product before a wait for it: PTX
 * leaves them undefined (PTX ISA 9.7.15.7), and ptxas inserts the wait (C7517).
 */
public final class PendingProducts implements DataFlow.Meet<int[]> {

  /** The age of a product that is not pending. */
  private static final int COMPLETE = Integer.MAX_VALUE;

  /**
   * The registers of a product.
   *
   * @param position its position in the code
   * @param sums may be neither read nor written while it is pending
   * @param factor may be read, but not written
   */
  private record Product(
      int position, Instruction instruction, Set<Register> sums, Set<Register> factor) {

    Product(int position, Instruction instruction) {
      this(position, instruction, registers(instruction, true), registers(instruction, false));
    }

    boolean isDisturbedBy(Instruction other) {
      // products add to their sums in order
      boolean adds = other.form().semantics() instanceof Semantics.Wgmma;
      return (!adds && contain(sums, other.writes()))
          || contain(factor, other.writes())
          || contain(sums, adds ? registers(other, false) : other.reads());
    }

    private static boolean contain(Set<Register> registers, Collection<Register> some) {
      return !registers.isEmpty() && some.stream().anyMatch(registers::contains);
    }
  }

  private final Kernel code;
  private final List<Product> products = new ArrayList<>();

  private PendingProducts(Kernel code) {
    this.code = code;
    for (int at = 0; at < code.body().size(); at++) {
      if (code.body().get(at) instanceof Instruction instruction
          && instruction.form().semantics() instanceof Semantics.Wgmma) {
        products.add(new Product(at, instruction));
      }
    }
  }

  /** Returns the registers of a product's matrices: of the sums, or of the factor. */
  private static Set<Register> registers(Instruction product, boolean sums) {
    return product.operands().stream()
        .skip(sums ? 0 : 1)
        .limit(1)
        .filter(Operand.Vector.class::isInstance)
        .flatMap(Operand::registers)
        .collect(Collectors.toSet());
  }

  /**
   * Returns the positions of the statements that use a register too early, each with the product,
   * as if each waited for all products first.
   */
  public static Map<Integer, Instruction> earlyUses(Kernel code) {
    var pending = new PendingProducts(code);
    return pending.products.isEmpty() ? Map.of() : pending.earlyUses();
  }

  private Map<Integer, Instruction> earlyUses() {
    var flow = ControlFlow.of(code);
    var start = new BitSet();
    start.set(0);
    // by product: the number of groups that have been committed since it was issued
    int[] none = new int[products.size()];
    Arrays.fill(none, COMPLETE);
    var ages =
        new DataFlow<>(flow, DataFlow.Direction.FORWARD, this, this::execute).solve(start, none);
    var uses = new TreeMap<Integer, Instruction>();
    for (int at = 0; at < ages.size(); at++) {
      var age = ages.get(at);
      var product = age == null ? null : disturbed(at, age);
      if (product != null) {
        uses.put(at, product.instruction);
      }
    }
    return Collections.unmodifiableMap(uses);
  }

  /** Returns a pending product that a statement disturbs; null = none. */
  private @Nullable Product disturbed(int statement, int[] ages) {
    if (code.body().get(statement) instanceof Instruction instruction) {
      for (int i = 0; i < ages.length; i++) {
        if (ages[i] != COMPLETE && products.get(i).isDisturbedBy(instruction)) {
          return products.get(i);
        }
      }
    }
    return null;
  }

  private void execute(int statement, int[] ages) {
    if (disturbed(statement, ages) != null) {
      Arrays.fill(ages, COMPLETE);
    }
    if (!(code.body().get(statement) instanceof Instruction instruction)) {
      return;
    }
    var semantics = instruction.form().semantics();
    if (semantics instanceof Semantics.Wgmma) {
      Arrays.setAll(ages, i -> products.get(i).position == statement ? 0 : ages[i]);
    } else if (instruction.guard() != null) {
      return; // some warps may not execute it
    } else if (semantics instanceof Semantics.WgmmaCommit) {
      Arrays.setAll(ages, i -> ages[i] == COMPLETE ? COMPLETE : ages[i] + 1);
    } else if (semantics instanceof Semantics.WgmmaWait) {
      long newest = ((Operand.Immediate) instruction.operands().getFirst()).bits();
      Arrays.setAll(ages, i -> ages[i] > newest ? COMPLETE : ages[i]);
    }
  }

  @Override
  public int[] copy(int[] ages) {
    return ages.clone();
  }

  @Override
  public boolean merge(int[] into, int[] other) {
    boolean changed = false;
    for (int i = 0; i < into.length; i++) {
      changed |= other[i] < into[i];
      into[i] = Math.min(into[i], other[i]);
    }
    return changed;
  }
}
