package dev.athanor.engine.emulator.jit;

import dev.athanor.engine.emulator.program.Binder;
import dev.athanor.engine.emulator.program.ProgramFlow;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.LoadStore;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.ToIntFunction;

/**
 * Decides which segments of a program are compiled. A segment is a run of instructions in which no
 * thread needs another: lane functions, weak loads and stores, branches. The interpreter executes
 * the rest: barriers, shuffles, atomics, exits.
 */
final class SegmentSelector {

  /** The maximum size of a method in bytes. The JIT does not compile methods above its limit. */
  private static final int MAX_BYTES = 2000;

  /** The maximum length of a run, so that its method does not exceed the limit of class files. */
  private static final int MAX_INSTRUCTIONS = 500;

  private final ProgramFlow flow;
  private final boolean everything;
  private final ToIntFunction<Segment> size;

  /**
   * @param everything whether to select also segments that the interpreter executes faster
   * @param size the size of a segment's method in bytes
   */
  SegmentSelector(ProgramFlow flow, boolean everything, ToIntFunction<Segment> size) {
    this.flow = flow;
    this.everything = everything;
    this.size = size;
  }

  /** Returns the segments to compile, disjoint. */
  List<Segment> select() {
    var selected = new ArrayList<Segment>();
    int from = 0;
    for (int end = 0; end <= flow.code().size(); end++) {
      if (end == flow.code().size() || !needsNoOtherThread(flow.code().get(end))) {
        var run = new Segment(from, end);
        if (!exchangesInLockstep(run)) {
          for (int pc = from; pc < end; pc += MAX_INSTRUCTIONS) {
            selected.addAll(split(new Segment(pc, Math.min(end, pc + MAX_INSTRUCTIONS))));
          }
        }
        from = end + 1;
      }
    }
    return fitting(selected);
  }

  private static boolean needsNoOtherThread(Instruction i) {
    return switch (i.form().semantics()) {
      case Semantics.Pure _ -> Binder.clocks(i).isEmpty();
      case Semantics.Load _, Semantics.Store _ -> !LoadStore.isStrong(i);
      case Semantics.AwaitPreviousGrid _, Semantics.LaunchDependents _, Semantics.NoEffect _ ->
          true;
      // the interpreter checks whether a branch with .uni is uniform
      case Semantics.Branch _ -> i.guard() == null || !i.modifiers().has("uni");
      case Semantics.Warp _,
          Semantics.Converged _,
          Semantics.ClusterRank _,
          Semantics.Atomic _,
          Semantics.LoadMatrix _,
          Semantics.StoreMatrix _,
          Semantics.LoadTile _,
          Semantics.StoreTile _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Fence _,
          Semantics.Barrier _,
          Semantics.WarpBarrier _,
          Semantics.ClusterArrive _,
          Semantics.ClusterWait _,
          Semantics.TensorMapUpdate _,
          Semantics.IndexedBranch _,
          Semantics.Call _,
          Semantics.RuntimeCall _,
          Semantics.Exit _,
          Semantics.Trap _ ->
          false;
    };
  }

  /**
   * Whether a run next to a memory fence has a store and another access to the same memory.
   * Programs written before lanes were scheduled independently exchange values like this, with
   * fences but no barrier, and rely on lanes that execute each instruction together. The
   * interpreter does so; in compiled code each lane would run ahead through the whole run.
   */
  private boolean exchangesInLockstep(Segment run) {
    if (!isMemoryFence(run.from() - 1) && !isMemoryFence(run.to())) {
      return false;
    }
    var accessed = EnumSet.noneOf(Space.class);
    var accessedTwice = EnumSet.noneOf(Space.class);
    var stored = EnumSet.noneOf(Space.class);
    for (var instruction : run.instructions(flow)) {
      var semantics = instruction.form().semantics();
      if (semantics instanceof Semantics.Load || semantics instanceof Semantics.Store) {
        var spaces = exchangeable(instruction);
        for (var space : spaces) {
          if (!accessed.add(space)) {
            accessedTwice.add(space);
          }
        }
        if (semantics instanceof Semantics.Store) {
          stored.addAll(spaces);
        }
      }
    }
    stored.retainAll(accessedTwice);
    return !stored.isEmpty();
  }

  /** Returns the memories through which lanes may exchange values with an access. */
  private static Set<Space> exchangeable(Instruction instruction) {
    return switch (Addresses.space(instruction)) {
      case null -> EnumSet.of(Space.GLOBAL, Space.SHARED); // a generic address may lie in either
      case GLOBAL -> EnumSet.of(Space.GLOBAL);
      case SHARED, SHARED_CTA, SHARED_CLUSTER -> EnumSet.of(Space.SHARED);
      case LOCAL, PARAM, CONST -> EnumSet.noneOf(Space.class);
    };
  }

  private boolean isMemoryFence(int pc) {
    return pc >= 0
        && pc < flow.code().size()
        && flow.code().get(pc).form().semantics() instanceof Semantics.Fence
        && !flow.code().get(pc).modifiers().has("proxy");
  }

  /**
   * Splits a run at its entries and after the ends of loops that begin before it, so that threads
   * do not load registers that only other threads need.
   */
  private List<Segment> split(Segment run) {
    var cuts = new BitSet();
    cuts.set(run.to());
    run.entries(flow).forEach(cuts::set);
    for (int pc = run.from(); pc < run.to() - 1; pc++) {
      var instruction = flow.code().get(pc);
      if (instruction.form().semantics() instanceof Semantics.Branch
          && flow.target(instruction) < run.from()) {
        cuts.set(pc + 1);
      }
    }
    var segments = new ArrayList<Segment>();
    for (int cut = run.from(); cut < run.to(); cut = cuts.nextSetBit(cut + 1)) {
      segments.add(new Segment(cut, cuts.nextSetBit(cut + 1)));
    }
    return segments;
  }

  /** Divides segments until the JIT compiles every method; drops those that are not worth it. */
  private List<Segment> fitting(List<Segment> given) {
    var fitting = new ArrayList<Segment>();
    var open = new ArrayDeque<>(given);
    while (!open.isEmpty()) {
      var segment = open.pop();
      if (segment.length() <= 1 || (!everything && isArithmetic(segment))) {
        continue;
      }
      int bytes = size.applyAsInt(segment);
      if (bytes <= MAX_BYTES) {
        fitting.add(segment);
      } else {
        open.addAll(divide(segment, Math.min(segment.length(), bytes / MAX_BYTES + 1)));
      }
    }
    return fitting;
  }

  private static List<Segment> divide(Segment segment, int parts) {
    var all = new ArrayList<Segment>();
    for (int i = 0; i < parts; i++) {
      all.add(
          new Segment(
              segment.from() + segment.length() * i / parts,
              segment.from() + segment.length() * (i + 1) / parts));
    }
    return all;
  }

  /**
   * Whether a segment is mostly arithmetic and has no loop. The interpreter executes it faster, as
   * the JIT vectorizes its loops over lanes.
   */
  private boolean isArithmetic(Segment segment) {
    int vectorized = 0;
    for (int pc = segment.from(); pc < segment.to(); pc++) {
      var instruction = flow.code().get(pc);
      if (instruction.form().semantics() instanceof Semantics.Branch
          && flow.target(instruction) >= segment.from()
          && flow.target(instruction) <= pc) {
        return false;
      }
      vectorized += isVectorizable(instruction) ? 1 : 0;
    }
    return 2 * vectorized > segment.length();
  }

  private static boolean isVectorizable(Instruction instruction) {
    return instruction.form().semantics() instanceof Semantics.Pure pure
        && pure.operation().isVectorizable();
  }
}
