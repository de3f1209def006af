package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.ops.DeviceTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.LongFunction;
import java.util.stream.IntStream;

/**
 * The positions of a pipeline's values in memory. Values that are not needed at the same time share
 * memory. All steps share a workspace.
 *
 * @param bytes size of the common buffer
 * @param places by the index of a value that is not in the memory of another and not resident
 * @param workspaceBytes size of the largest workspace
 */
record MemoryPlan(long bytes, Map<Integer, Place> places, long workspaceBytes) {

  /** The common buffer, as opposed to the memory of a value. */
  static final int COMMON = -1;

  /** The alignment of each value, in bytes: a line of the L2 cache. */
  private static final long ALIGNMENT = 128;

  /**
   * A position.
   *
   * @param buffer {@link #COMMON}, or the index of a value with memory of its own
   */
  record Place(int buffer, long offset) {}

  /**
   * Assigns memory to all values, the largest first, each at the lowest free offset.
   *
   * @param separate the indices of values that need memory of their own, in which others may be
   *     before
   */
  static MemoryPlan of(PipelineKey key, Set<Integer> separate) {
    return new Assignment(key).run(separate);
  }

  /**
   * Allocates the common buffer and passes on the tensor of each value, by its index.
   *
   * @param own the memory of values that need their own
   */
  void place(
      PipelineKey key,
      LongFunction<Buffer> allocate,
      Map<Integer, DeviceTensor> own,
      BiConsumer<Integer, DeviceTensor> tensors) {
    boolean isShared = places.values().stream().anyMatch(place -> place.buffer == COMMON);
    var common = isShared ? allocate.apply(bytes) : null;
    for (int i = 0; i < key.values().size(); i++) {
      int owner = key.owner(i);
      var resident = key.values().get(owner).resident();
      Buffer buffer;
      long start;
      if (resident != null) {
        buffer = resident.buffer();
        start = resident.offset();
      } else {
        var place = Objects.requireNonNull(places.get(owner));
        var separate = own.get(place.buffer);
        buffer = separate == null ? Objects.requireNonNull(common) : separate.buffer();
        start = place.offset;
      }
      var type = key.values().get(i).type();
      tensors.accept(i, new DeviceTensor(type, buffer, start + key.offset(i)));
    }
  }

  /** Allocates the workspace of all steps, if any needs one. */
  Optional<Buffer> workspace(LongFunction<Buffer> allocate) {
    return workspaceBytes == 0 ? Optional.empty() : Optional.of(allocate.apply(workspaceBytes));
  }

  private static final class Assignment {

    /**
     * A value with memory of its own.
     *
     * @param first the step that produces it; -1 for an input
     * @param last the last step that needs its memory
     */
    private record Life(int value, long bytes, int first, int last) {
      boolean overlaps(Life other) {
        return first <= other.last && other.first <= last;
      }
    }

    private record Placed(Life life, long offset) {}

    private final PipelineKey key;
    private final Map<Integer, List<Placed>> buffers = new HashMap<>();
    private final Map<Integer, Place> places = new HashMap<>();

    Assignment(PipelineKey key) {
      this.key = key;
    }

    MemoryPlan run(Set<Integer> separate) {
      var lives = lives();
      var sizes = new HashMap<Integer, Long>();
      for (var life : lives) {
        if (separate.contains(life.value)) {
          put(life, life.value, 0);
          sizes.put(life.value, life.bytes);
        }
      }
      long bytes = 0;
      for (var life : lives) {
        if (!separate.contains(life.value)) {
          var shared =
              sizes.entrySet().stream()
                  .filter(each -> gap(life, each.getKey()) + life.bytes <= each.getValue())
                  .map(Map.Entry::getKey)
                  .findFirst();
          int buffer = shared.orElse(COMMON);
          long offset = gap(life, buffer);
          put(life, buffer, offset);
          bytes = shared.isPresent() ? bytes : Math.max(bytes, Math.addExact(offset, life.bytes));
        }
      }
      long workspace =
          key.stages().stream().mapToLong(stage -> stage.plan().workspaceBytes()).max().orElse(0);
      return new MemoryPlan(bytes, Map.copyOf(places), workspace);
    }

    /** Returns the values with memory of their own, the largest first. */
    private List<Life> lives() {
      int count = key.values().size();
      var firsts = new int[count];
      var lasts = new int[count];
      Arrays.fill(firsts, -1);
      for (int step = 0; step < key.stages().size(); step++) {
        for (int output : key.stages().get(step).outputs().values()) {
          firsts[output] = step;
        }
      }
      for (int i = 0; i < count; i++) {
        var value = key.values().get(i);
        int last = value.isOutput() ? Integer.MAX_VALUE : value.lastUse();
        int owner = key.owner(i);
        lasts[owner] = Math.max(lasts[owner], last);
      }
      return IntStream.range(0, count)
          .filter(i -> key.owner(i) == i && key.values().get(i).resident() == null)
          .mapToObj(i -> new Life(i, key.values().get(i).type().bytes(), firsts[i], lasts[i]))
          .sorted(Comparator.comparingLong(Life::bytes).reversed())
          .toList();
    }

    /** Returns the lowest offset in a buffer at which the memory is free during a lifetime. */
    private long gap(Life life, int buffer) {
      var taken =
          buffers.getOrDefault(buffer, List.of()).stream()
              .filter(placed -> placed.life.overlaps(life))
              .sorted(Comparator.comparingLong(Placed::offset))
              .toList();
      long offset = 0;
      for (var placed : taken) {
        if (placed.offset - offset >= life.bytes) {
          break;
        }
        long end = Math.ceilDiv(placed.offset + placed.life.bytes, ALIGNMENT) * ALIGNMENT;
        offset = Math.max(offset, end);
      }
      return offset;
    }

    private void put(Life life, int buffer, long offset) {
      buffers.computeIfAbsent(buffer, _ -> new ArrayList<>()).add(new Placed(life, offset));
      places.put(life.value, new Place(buffer, offset));
    }
  }
}
