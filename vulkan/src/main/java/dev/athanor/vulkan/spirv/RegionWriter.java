package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.vulkan.flow.BlockUniformity;
import dev.athanor.vulkan.flow.ControlGraph;
import dev.athanor.vulkan.flow.Region;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Writes a control-flow graph as structured control flow. A block that is not on every path through
 * its region executes if a flag is set, which the blocks before it set.
 *
 * <p>Where threads of a block diverge, but an instruction is for the whole block, all threads
 * execute that instruction and the loops around it. It then counts only for the threads that are
 * active there.
 */
final class RegionWriter {

  private final ControlGraph graph;
  private final Code code;
  private final Instructions instructions;
  private final Lanes lanes;
  private final boolean subgroups;

  /** The blocks that threads execute apart from each other. */
  private final BitSet divergent;

  /** The divergent blocks with instructions for the whole block of threads. */
  private final BitSet joint = new BitSet();

  private final Map<Integer, Region> regions = new HashMap<>();

  /** The variables of flags, by region and target. */
  private final Map<Flag, Integer> flags = new HashMap<>();

  private record Flag(int region, int target) {}

  RegionWriter(
      ControlGraph graph, Code code, Instructions instructions, Lanes lanes, boolean subgroups) {
    this.graph = graph;
    this.code = code;
    this.instructions = instructions;
    this.lanes = lanes;
    this.subgroups = subgroups;
    this.divergent = BlockUniformity.divergent(graph);
    for (int block : graph.reachable()) {
      if (divergent.get(block)
          && graph.block(block).code().stream()
              .anyMatch(i -> Instructions.isForBlock(i, subgroups))) {
        joint.set(block);
      }
    }
    requireOrderedBarriers();
  }

  /**
   * Refuses branches that wait at the same barrier by different instructions: one branch would be
   * executed before the other, not up to the barrier.
   */
  private void requireOrderedBarriers() {
    var barriers =
        joint.stream()
            .filter(block ->
                graph.block(block).code().stream()
                    .anyMatch(i -> i.form().semantics() instanceof Semantics.Barrier))
            .toArray();
    for (int one : barriers) {
      for (int other : barriers) {
        if (!graph.reaches(one, other) && !graph.reaches(other, one)) {
          throw new UnsupportedKernelException(
              "threads of a block may wait at a barrier in different branches");
        }
      }
    }
  }

  void write() {
    region(ControlGraph.EXIT, null);
  }

  private int flag(int region, int target) {
    return flags.computeIfAbsent(
        new Flag(region, target), _ -> code.module.local(code.module.scalar(Scalar.BOOL)));
  }

  private Region region(int header) {
    return regions.computeIfAbsent(header, h -> Region.of(graph, h));
  }

  /**
   * Writes the items of a region.
   *
   * @param active the variable that is set for the threads which execute the region; null = all
   *     threads that come here
   */
  private void region(int header, @Nullable Integer active) {
    var region = region(header);
    for (int item : region.items()) {
      if (!region.always().get(item)) {
        code.store(flag(header, item), code.bool(false));
      }
    }
    if (header != ControlGraph.EXIT) {
      code.store(flag(header, header), code.bool(false));
    }
    for (int item : region.items()) {
      var selected = region.always().get(item) ? active : Integer.valueOf(flag(header, item));
      boolean loop = item != header && graph.isLoop(item);
      if (loop && isJoint(item)) {
        jointLoop(item, selected);
      } else if (!loop && joint.get(item)) {
        block(header, item, selected);
      } else if (selected == null) {
        item(header, item, loop);
      } else {
        code.onlyIf(code.load(selected, Scalar.BOOL), () -> item(header, item, loop));
      }
    }
  }

  private void item(int region, int item, boolean loop) {
    if (!loop) {
      block(region, item, null);
      return;
    }
    boolean alone = !divergent.get(item) && graph.loop(item).cardinality() == 1;
    var sources = alone ? lanes.beforeLoop(graph.block(item).code()) : Set.<Operand>of();
    lanes.open(sources);
    code.loop(() -> {
      region(item, null);
      return code.load(flag(item, item), Scalar.BOOL);
    });
    lanes.close(sources);
  }

  /** Returns whether all threads of the block iterate a loop as often as any of them. */
  private boolean isJoint(int header) {
    return divergent.get(header) && graph.loop(header).intersects(joint);
  }

  private void jointLoop(int header, @Nullable Integer selected) {
    int active = code.module.local(code.module.scalar(Scalar.BOOL));
    code.store(active, selected == null ? code.bool(true) : code.load(selected, Scalar.BOOL));
    code.loop(() -> {
      region(header, active);
      var again = code.load(flag(header, header), Scalar.BOOL);
      code.store(active, again);
      return code.not(code.equal(lanes.count(again), 0));
    });
  }

  /** Writes a block whose instructions for all threads are executed by all. */
  private void block(int region, int block, @Nullable Integer selected) {
    var active = selected == null ? null : code.load(selected, Scalar.BOOL);
    var single = new ArrayList<Instruction>();
    for (var exchange : lanes.exchanges(graph.block(block).code())) {
      flush(single, active);
      lanes.open(exchange.sources());
      for (var instruction : exchange.code()) {
        if (Instructions.isForBlock(instruction, subgroups)) {
          flush(single, active);
          instructions.writeForBlock(instruction, active);
        } else {
          single.add(instruction);
        }
      }
      flush(single, active);
      lanes.close(exchange.sources());
    }
    branch(region, block, active);
  }

  private void flush(List<Instruction> single, @Nullable Value active) {
    if (!single.isEmpty()) {
      when(active, () -> single.forEach(instructions::write));
      single.clear();
    }
  }

  private void when(@Nullable Value active, Runnable body) {
    if (active == null) {
      body.run();
    } else {
      code.onlyIf(active, body);
    }
  }

  /** Sets the flags of the successors of a block. */
  private void branch(int region, int block, @Nullable Value active) {
    var given = graph.block(block);
    var guard = given.condition();
    when(
        active,
        () -> {
          if (guard == null) {
            set(region, given.successors().getFirst(), code.bool(true));
          } else {
            var taken = instructions.condition(guard);
            set(region, given.successors().getFirst(), taken);
            set(region, given.successors().getLast(), code.not(taken));
          }
        });
  }

  private void set(int from, int target, Value value) {
    if (target == ControlGraph.EXIT) {
      return;
    }
    int region = from;
    while (target != region && !Region.contains(graph, region, target)) {
      region = graph.parent(region);
    }
    if (target == region) {
      code.store(flag(region, region), value);
      return;
    }
    int item = Region.item(graph, region, target);
    if (!region(region).always().get(item)) {
      code.store(flag(region, item), value);
    }
  }
}
