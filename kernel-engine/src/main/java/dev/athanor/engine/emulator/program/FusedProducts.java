package dev.athanor.engine.emulator.program;

import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.LoadStore;
import dev.athanor.engine.emulator.step.Vectors;
import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A run of loads from shared memory and f32 multiply-adds, such as the inner loop of a matrix
 * product, that is executed as a group: all loads, then the products, with the sums in vector
 * registers of the CPU. Requires whole warps with all lanes active, and no observer.
 */
public final class FusedProducts {

  /** Rows and columns of {@link Vectors#addOuterProducts}. */
  private static final int SIDE = 4;

  /** Loads of words of shared memory at constant offsets from one address register. */
  private static final class Loads {
    final int[] addresses;

    /** The offset of each word from the base address, in words. */
    final int[] words;

    /** The register that receives each word. */
    final float[][] registers;

    /** The end of the loaded bytes, as an offset from the base address. */
    final int bytes;

    final int alignment;

    Loads(Register base, Loaded loaded, Block block) {
      addresses = block.registers.of(base).ints();
      words = loaded.words.stream().mapToInt(Integer::intValue).toArray();
      registers = arrays(loaded.registers.stream(), block);
      bytes = loaded.bytes;
      alignment = loaded.alignment;
    }
  }

  /** Sums, and the factors whose products are added to them in order. */
  private static final class Products {
    final float[][] sums;
    final float[][] left;
    final float[][] right;

    Products(List<List<Chain>> rows, Block block) {
      var columns = rows.getFirst();
      int depth = columns.getFirst().left.size();
      sums = arrays(rows.stream().flatMap(List::stream).map(Chain::sum), block);
      left =
          arrays(
              IntStream.range(0, depth)
                  .boxed()
                  .flatMap(k -> rows.stream().map(row -> row.getFirst().left.get(k))),
              block);
      right =
          arrays(
              IntStream.range(0, depth)
                  .boxed()
                  .flatMap(k -> columns.stream().map(column -> column.right.get(k))),
              block);
    }
  }

  private final Vectors vectors;
  private final Block block;
  private final int length;
  private final List<Loads> loads;
  private final List<Products> tiles;
  private final List<Products> others;

  private FusedProducts(
      Vectors vectors,
      Block block,
      int length,
      List<Loads> loads,
      List<Products> tiles,
      List<Products> others) {
    this.vectors = vectors;
    this.block = block;
    this.length = length;
    this.loads = loads;
    this.tiles = tiles;
    this.others = others;
  }

  /** Returns for each instruction the group that starts there; null = none. */
  public static @Nullable FusedProducts[] in(
      List<Instruction> program, Vectors vectors, Block block) {
    var all = new @Nullable FusedProducts[program.size()];
    for (int pc = 0; pc < all.length; ) {
      var run = new Run();
      int end = pc;
      while (end < all.length && run.takes(program.get(end))) {
        end++;
      }
      all[pc] = run.bind(end - pc, vectors, block);
      pc = Math.max(end, pc + 1);
    }
    return all;
  }

  /** Returns the number of instructions in the group. */
  public int length() {
    return length;
  }

  /**
   * Executes the group for the warps from {@code first} to {@code end - 1}. Returns false, without
   * any effect, if a lane is inactive or an address is invalid.
   */
  public boolean execute(int first, int end) {
    for (int warp = first; warp < end; warp++) {
      if (block.active[warp] != -1) {
        return false;
      }
    }
    for (var some : loads) {
      if (!isInside(some, Warps.SIZE * first, Warps.SIZE * end)) {
        return false;
      }
    }
    // one vector of every register fits the L1 cache, whole registers would not
    for (int lane = Warps.SIZE * first; lane < Warps.SIZE * end; lane += vectors.length()) {
      for (var some : loads) {
        load(some, lane, lane > Warps.SIZE * first);
      }
      for (var tile : tiles) {
        vectors.addOuterProducts(tile.sums, tile.left, tile.right, lane);
      }
      for (var other : others) {
        vectors.addProducts(other.sums[0], other.left, other.right, lane);
      }
    }
    return true;
  }

  private boolean isInside(Loads some, int lo, int hi) {
    int union = 0;
    int greatest = 0;
    for (int i = lo; i < hi; i++) {
      union |= some.addresses[i];
      greatest = Math.max(greatest, some.addresses[i]);
    }
    return union >= 0
        && (union & (some.alignment - 1)) == 0
        && greatest + (long) some.bytes <= block.sharedMemory.segment().byteSize();
  }

  private void load(Loads some, int lane, boolean hasBefore) {
    int[] addresses = some.addresses;
    if (vectors.isUniform(addresses, lane)) {
      vectors.broadcast(block.words, addresses[lane] >> 2, some.words, some.registers, lane);
    } else if (hasBefore && vectors.isRepeated(addresses, lane)) {
      vectors.repeat(some.registers, lane);
    } else if (isConsecutive(addresses, lane)) {
      vectors.load(block.words, addresses[lane] >> 2, some.words, some.registers, lane);
    } else {
      for (int i = 0; i < some.words.length; i++) {
        float[] register = some.registers[i];
        for (int j = lane; j < lane + vectors.length(); j++) {
          register[j] = Float.intBitsToFloat(block.words[(addresses[j] >> 2) + some.words[i]]);
        }
      }
    }
  }

  private boolean isConsecutive(int[] addresses, int lane) {
    for (int i = 1; i < vectors.length(); i++) {
      if (addresses[lane + i] - addresses[lane] != Integer.BYTES * i) {
        return false;
      }
    }
    return true;
  }

  /** The products of one sum. */
  private record Chain(Register sum, List<Register> left, List<Register> right) {}

  /** The loads that share a base register. */
  private static final class Loaded {
    final List<Integer> words = new ArrayList<>();
    final List<Register> registers = new ArrayList<>();
    int bytes;
    int alignment = Integer.BYTES;
  }

  /** Collects instructions that may be reordered, except within a sum. */
  private static final class Run {

    private final Map<Register, Loaded> loads = new LinkedHashMap<>();
    private final Map<Register, Chain> chains = new LinkedHashMap<>();
    private final Set<Register> loaded = new HashSet<>();
    private final Set<Register> factors = new HashSet<>();

    /** Adds the next instruction; returns false if it does not belong to the group. */
    boolean takes(Instruction i) {
      if (i.guard() != null) {
        return false;
      }
      return isProduct(i) ? takesProduct(i) : takesLoad(i);
    }

    /** Returns whether an instruction is a multiply-add of f32, rounded to nearest. */
    private static boolean isProduct(Instruction i) {
      return i.form().semantics() instanceof Semantics.Pure pure
          && pure.operation() == Semantics.LaneOperation.MULTIPLY_ADD
          && i.modifiers().list().equals(List.of(Rounding.RN, Type.F32));
    }

    private boolean takesProduct(Instruction i) {
      if (!(i.operands().get(0) instanceof Register sum)
          || !(i.operands().get(1) instanceof Register left)
          || !(i.operands().get(2) instanceof Register right)
          || !i.operands().get(3).equals(sum)
          || RegisterStorage.of(sum.registerClass()) != RegisterStorage.FLOAT
          || RegisterStorage.of(left.registerClass()) != RegisterStorage.FLOAT
          || RegisterStorage.of(right.registerClass()) != RegisterStorage.FLOAT
          || loaded.contains(sum)
          || factors.contains(sum)
          || sum.equals(left)
          || sum.equals(right)
          || chains.containsKey(left)
          || chains.containsKey(right)) {
        return false;
      }
      factors.add(left);
      factors.add(right);
      var chain =
          chains.computeIfAbsent(sum, s -> new Chain(s, new ArrayList<>(), new ArrayList<>()));
      chain.left.add(left);
      chain.right.add(right);
      return true;
    }

    private boolean takesLoad(Instruction i) {
      var space = Addresses.space(i);
      if (!(i.form().semantics() instanceof Semantics.Load)
          || (space != Space.SHARED && space != Space.SHARED_CTA)
          || LoadStore.isStrong(i)
          || i.modifiers().type().orElseThrow().bits() != Float.SIZE) {
        return false;
      }
      var registers = new ArrayList<Register>();
      for (var operand : Binder.spread(i.operands().get(0)).toList()) {
        if (!(operand instanceof Register register)
            || RegisterStorage.of(register.registerClass()) != RegisterStorage.FLOAT
            || registers.contains(register)
            || loaded.contains(register)
            || factors.contains(register)
            || chains.containsKey(register)) {
          return false;
        }
        registers.add(register);
      }
      var address = (Operand.Address) i.operands().get(1);
      int bytes = Float.BYTES * registers.size();
      if (!(address.base() instanceof Register base)
          || RegisterStorage.of(base.registerClass()) != RegisterStorage.INT
          || address.offset() < 0
          || address.offset() > Integer.MAX_VALUE - bytes
          || address.offset() % bytes != 0) {
        return false;
      }
      var group = loads.computeIfAbsent(base, _ -> new Loaded());
      for (int n = 0; n < registers.size(); n++) {
        group.words.add((int) address.offset() / Integer.BYTES + n);
      }
      group.registers.addAll(registers);
      group.bytes = Math.max(group.bytes, (int) address.offset() + bytes);
      group.alignment = Math.max(group.alignment, bytes);
      loaded.addAll(registers);
      return true;
    }

    /** Returns the group; null if there are too few products for it to pay. */
    @Nullable FusedProducts bind(int length, Vectors vectors, Block block) {
      var tiles = tiles();
      if (tiles.isEmpty()) {
        return null;
      }
      var others = new LinkedHashSet<>(chains.values());
      tiles.forEach(tile -> tile.forEach(others::removeAll));
      return new FusedProducts(
          vectors,
          block,
          length,
          loads.entrySet().stream().map(e -> new Loads(e.getKey(), e.getValue(), block)).toList(),
          tiles.stream().map(tile -> new Products(tile, block)).toList(),
          others.stream().map(chain -> new Products(List.of(List.of(chain)), block)).toList());
    }

    /**
     * Returns tiles of four rows of four sums each. The sums of a row share their left factors,
     * those of a column their right factors.
     */
    private List<List<List<Chain>>> tiles() {
      var rows = new LinkedHashMap<List<Register>, Map<List<Register>, Chain>>();
      for (var chain : chains.values()) {
        rows.computeIfAbsent(chain.left, _ -> new LinkedHashMap<>()).put(chain.right, chain);
      }
      var all = new ArrayList<List<List<Chain>>>();
      var each = rows.values().stream().filter(row -> row.size() >= SIDE).toList();
      for (int row = 0; row + SIDE <= each.size(); row += SIDE) {
        var four = each.subList(row, row + SIDE);
        var common = new LinkedHashSet<>(four.getFirst().keySet());
        four.forEach(r -> common.retainAll(r.keySet()));
        var columns = List.copyOf(common);
        for (int column = 0; column + SIDE <= columns.size(); column += SIDE) {
          var some = columns.subList(column, column + SIDE);
          all.add(four.stream().map(r -> some.stream().map(r::get).toList()).toList());
        }
      }
      return all;
    }
  }

  private static float[][] arrays(Stream<Register> registers, Block block) {
    return registers.map(r -> block.registers.of(r).floats()).toArray(float[][]::new);
  }
}
