package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The registers that products of warpgroups use (PTX ISA 9.7.15.7): between a product and the wait
 * for it nobody else touches them, and between such a touch and a product there is a fence.
 */
final class ProductRegisters {

  /** No instruction, no group. */
  private static final int NONE = -1;

  /**
   * Which of them the instructions of a kernel touch.
   *
   * @param count how many there are
   * @param touched for each instruction their numbers
   * @param shapes for each product the number of its shape, from 1; of others 0
   */
  record Uses(int count, List<int[]> touched, List<Integer> shapes) {

    static Uses of(List<Instruction> instructions) {
      Map<Operand.Register, Integer> numbers = new HashMap<>();
      for (var instruction : instructions) {
        if (instruction.form().semantics() instanceof Semantics.Wgmma) {
          factors(instruction).forEach(r -> numbers.putIfAbsent(r, numbers.size()));
        }
      }
      var touched =
          instructions.stream()
              .map(instruction ->
                  (instruction.form().semantics() instanceof Semantics.Wgmma
                          ? factors(instruction)
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
      return new Uses(numbers.size(), touched, shapes);
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

    /** The sums of a product, and its first factor if that is in registers. */
    private static Stream<Operand.Register> factors(Instruction product) {
      return product.operands().stream()
          .filter(Operand.Vector.class::isInstance)
          .flatMap(Operand::registers);
    }

    /** How many of a product's registers are sums; they come first. */
    private static int sums(Instruction product) {
      return (int) product.operands().getFirst().registers().distinct().count();
    }

    boolean has(int instruction) {
      return touched.get(instruction).length > 0;
    }
  }

  private final Sanitizer of;
  private final Uses uses;

  /** For each warp the last group of products that uses each register, and the instruction. */
  private final int[][] groups;

  private final int[][] products;

  /** The instruction that has touched each since the last fence. */
  private final int[][] touchers;

  /** The shape of the products that have added to each since the last fence; 0 = there are none. */
  private final int[][] shapes;

  /** Whether a warp has executed a fence. */
  private final boolean[] fenced;

  /** How many groups each warp has waited for, and its last one with a product in it. */
  private final int[] awaited;

  private final int[] lastGroups;
  private final int[] lastProducts;

  ProductRegisters(Sanitizer of, int warps) {
    this.of = of;
    this.uses = of.launch.productRegisters;
    this.groups = new int[warps][uses.count];
    this.products = new int[warps][uses.count];
    this.touchers = new int[warps][uses.count];
    this.shapes = new int[warps][uses.count];
    this.fenced = new boolean[warps];
    this.awaited = new int[warps];
    this.lastGroups = new int[warps];
    this.lastProducts = new int[warps];
  }

  void begin() {
    for (int warp = 0; warp < groups.length; warp++) {
      Arrays.fill(groups[warp], NONE);
      Arrays.fill(touchers[warp], NONE);
      Arrays.fill(shapes[warp], 0);
    }
    Arrays.fill(fenced, false);
    Arrays.fill(awaited, 0);
    Arrays.fill(lastGroups, NONE);
  }

  /** A warp executes a fence, or another instruction that is no product. */
  void touch(int warp, MemoryEffect role) {
    if (role.kind() == MemoryEffect.Kind.PRODUCT_FENCE) {
      fenced[warp] = true;
      Arrays.fill(touchers[warp], NONE);
      Arrays.fill(shapes[warp], 0);
      return;
    }
    for (int register : uses.touched.get(role.number())) {
      if (groups[warp][register] >= awaited[warp]) {
        report(Kind.PRODUCT_NOT_AWAITED, warp, products[warp][register], role);
      }
      touchers[warp][register] = role.number();
    }
  }

  /** A warp takes part in a product. */
  void multiply(int warp, MemoryEffect role, int group) {
    int[] used = uses.touched.get(role.number());
    if (!fenced[warp]) {
      report(Kind.PRODUCT_FENCE, warp, NONE, role);
    }
    int shape = uses.shapes.get(role.number());
    int sums = Uses.sums(role.instruction());
    for (int i = 0; i < used.length; i++) {
      int register = used[i];
      if (i < sums) {
        if (shapes[warp][register] != 0 && shapes[warp][register] != shape) {
          report(Kind.PRODUCT_FENCE, warp, products[warp][register], role);
        }
        shapes[warp][register] = shape;
      }
      if (fenced[warp] && touchers[warp][register] != NONE) {
        report(Kind.PRODUCT_FENCE, warp, touchers[warp][register], role);
      }
      groups[warp][register] = group;
      products[warp][register] = role.number();
    }
    lastGroups[warp] = group;
    lastProducts[warp] = role.number();
  }

  /** A warp has waited for its groups, up to a number of them. */
  void await(int warp, int until) {
    awaited[warp] = Math.max(awaited[warp], until);
  }

  /** The last product that a warp has not waited for; -1 = none. */
  int left(int warp) {
    return lastGroups[warp] >= awaited[warp] ? lastProducts[warp] : NONE;
  }

  private void report(Kind kind, int warp, int other, MemoryEffect role) {
    of.launch.reports.add(
        kind,
        other == NONE ? role.number() : other,
        role.number(),
        of.block(),
        () -> of.sentences.registers(kind, of.block(), 32 * warp, other, role));
  }
}
