package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Checks the registers of warpgroup products (PTX ISA 9.7.15.7): no other instruction may use them
 * between a product and the wait for it, and a fence must separate other uses from a product.
 */
final class ProductRegisters {

  /** No instruction, no group. */
  private static final int NONE = -1;

  /**
   * The uses of these registers in a kernel.
   *
   * @param count of the registers
   * @param used for each instruction the numbers of the registers that it uses
   * @param shapes for each product the number of its shape, from 1; 0 for other instructions
   */
  record Uses(int count, List<int[]> used, List<Integer> shapes) {

    static Uses of(List<Instruction> instructions) {
      Map<Operand.Register, Integer> numbers = new HashMap<>();
      for (var instruction : instructions) {
        if (instruction.form().semantics() instanceof Semantics.Wgmma) {
          matrices(instruction).forEach(r -> numbers.putIfAbsent(r, numbers.size()));
        }
      }
      var used =
          instructions.stream()
              .map(instruction ->
                  (instruction.form().semantics() instanceof Semantics.Wgmma
                          ? matrices(instruction)
                          : registers(instruction))
                      .filter(numbers::containsKey)
                      .mapToInt(numbers::get)
                      .distinct()
                      .toArray())
              .toList();
      var known = new ArrayList<MatrixShape>();
      var shapes =
          instructions.stream()
              .map(instruction ->
                  instruction.form().semantics() instanceof Semantics.Wgmma
                      ? 1 + number(known, MatrixShape.of(instruction.modifiers()))
                      : 0)
              .toList();
      return new Uses(numbers.size(), used, shapes);
    }

    private static int number(List<MatrixShape> known, MatrixShape shape) {
      if (!known.contains(shape)) {
        known.add(shape);
      }
      return known.indexOf(shape);
    }

    private static Stream<Operand.Register> registers(Instruction instruction) {
      return Stream.concat(instruction.writes().stream(), instruction.reads().stream());
    }

    /** Returns the accumulators of a product, and its first operand if that is in registers. */
    private static Stream<Operand.Register> matrices(Instruction product) {
      return product.operands().stream()
          .filter(Operand.Vector.class::isInstance)
          .flatMap(Operand::registers);
    }

    /** Returns how many of a product's registers are accumulators; they come first. */
    private static int sums(Instruction product) {
      return (int) product.operands().getFirst().registers().distinct().count();
    }

    boolean has(int instruction) {
      return used.get(instruction).length > 0;
    }
  }

  private final LaunchHistory launch;
  private final Uses uses;

  /** By warp and register: the last group with a product that uses it, and that product. */
  private final int[][] groups;

  private final int[][] products;

  /** By warp and register: the other instruction that has used it since the last fence. */
  private final int[][] users;

  /** By warp and register: the shape of the products since the last fence; 0 = none. */
  private final int[][] shapes;

  /** By warp: whether it has executed a fence. */
  private final boolean[] fenced;

  /** By warp: the groups that it has waited for, and its last product with its group. */
  private final int[] awaited;

  private final int[] lastGroups;
  private final int[] lastProducts;

  private long block;

  ProductRegisters(LaunchHistory launch) {
    int warps = launch.geometry.warps();
    this.launch = launch;
    this.uses = launch.productRegisters;
    this.groups = new int[warps][uses.count];
    this.products = new int[warps][uses.count];
    this.users = new int[warps][uses.count];
    this.shapes = new int[warps][uses.count];
    this.fenced = new boolean[warps];
    this.awaited = new int[warps];
    this.lastGroups = new int[warps];
    this.lastProducts = new int[warps];
  }

  /** A block of the grid begins. */
  void begin(long number) {
    block = number;
    for (int warp = 0; warp < groups.length; warp++) {
      Arrays.fill(groups[warp], NONE);
      Arrays.fill(users[warp], NONE);
      Arrays.fill(shapes[warp], 0);
    }
    Arrays.fill(fenced, false);
    Arrays.fill(awaited, 0);
    Arrays.fill(lastGroups, NONE);
  }

  /** A warp executes a fence, or another instruction that is not a product. */
  void use(int warp, MemoryEffect effect) {
    if (effect.kind() == MemoryEffect.Kind.PRODUCT_FENCE) {
      fenced[warp] = true;
      Arrays.fill(users[warp], NONE);
      Arrays.fill(shapes[warp], 0);
      return;
    }
    for (int register : uses.used.get(effect.number())) {
      if (groups[warp][register] >= awaited[warp]) {
        report(Kind.PRODUCT_NOT_AWAITED, warp, products[warp][register], effect);
      }
      users[warp][register] = effect.number();
    }
  }

  /** A warp issues a product. */
  void multiply(int warp, MemoryEffect effect, int group) {
    int[] used = uses.used.get(effect.number());
    if (!fenced[warp]) {
      report(Kind.PRODUCT_FENCE, warp, NONE, effect);
    }
    int shape = uses.shapes.get(effect.number());
    int sums = Uses.sums(effect.instruction());
    for (int i = 0; i < used.length; i++) {
      int register = used[i];
      if (i < sums) {
        if (shapes[warp][register] != 0 && shapes[warp][register] != shape) {
          report(Kind.PRODUCT_FENCE, warp, products[warp][register], effect);
        }
        shapes[warp][register] = shape;
      }
      if (fenced[warp] && users[warp][register] != NONE) {
        report(Kind.PRODUCT_FENCE, warp, users[warp][register], effect);
      }
      groups[warp][register] = group;
      products[warp][register] = effect.number();
    }
    lastGroups[warp] = group;
    lastProducts[warp] = effect.number();
  }

  /** A warp has waited for its first {@code until} groups. */
  void await(int warp, int until) {
    awaited[warp] = Math.max(awaited[warp], until);
  }

  /** Returns the instruction of the last product that a warp has not waited for; -1 = none. */
  int left(int warp) {
    return lastGroups[warp] >= awaited[warp] ? lastProducts[warp] : NONE;
  }

  private void report(Kind kind, int warp, int other, MemoryEffect effect) {
    launch.reports.add(
        kind,
        other == NONE ? effect.number() : other,
        effect.number(),
        block,
        () -> launch.messages.registers(kind, block, Warps.SIZE * warp, other, effect));
  }
}
