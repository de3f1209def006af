package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.memory.DeviceHeap;
import dev.athanor.engine.emulator.memory.VariableExtents;
import dev.athanor.engine.emulator.sanitizer.clocks.ReleasedLocations;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.emulator.watch.Observer.Observed;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The static facts about a kernel, and the history of all clusters of its launch. */
final class LaunchHistory {
  final LaunchGeometry geometry;
  final ReleasedLocations released = new ReleasedLocations();

  /** Numbers the agents of the vector clocks. */
  final AtomicLong agentNumbers = new AtomicLong();

  /** By address, the last change of each tensor map by an instruction for tensor maps. */
  final Map<Long, TensorMaps.Change> changedMaps = new ConcurrentHashMap<>();

  /** Whether to detect races. */
  final boolean races;

  /** Whether races are detected and the kernel has a releasing instruction. */
  final boolean releases;

  /**
   * Held during a strong access, so that the access and its acquire or release are atomic for other
   * workers.
   */
  final ReentrantLock strong = new ReentrantLock();

  final Reports reports;

  /** The effect of each instruction. */
  final List<MemoryEffect> effects;

  final SanitizerMessages messages;
  final ProductRegisters.Uses productRegisters;
  final GlobalShadow shadow = new GlobalShadow();

  /** The launches that this one may overlap; null = none. */
  final @Nullable PreviousGrids previous;

  /** The local memory of a thread in bytes. */
  final int localBytes;

  /** The heap of kernels that allocate; null = none. */
  final @Nullable DeviceHeap heap;

  private final IdentityHashMap<Instruction, Integer> numbers = new IdentityHashMap<>();

  /**
   * @param ignored kinds that are not reported
   * @param earlier the previous launch of the stream, if this one may overlap it; null = none
   */
  LaunchHistory(
      Observed observed, boolean races, Set<Report.Kind> ignored, @Nullable LaunchHistory earlier) {
    this.heap = observed.heap();
    this.localBytes = observed.localBytes();
    this.races = races;
    this.previous =
        races && earlier != null
            ? PreviousGrids.after(earlier, agentNumbers.getAndIncrement())
            : null;
    this.reports = new Reports(ignored);
    this.geometry =
        new LaunchGeometry(
            observed.kernel().name(), observed.grid(), observed.block(), observed.cluster());
    var instructions = observed.instructions();
    var variables = new VariableExtents(observed.kernel(), instructions, observed.sharedBytes());
    this.effects =
        IntStream.range(0, instructions.size())
            .mapToObj(i -> MemoryEffect.of(i, instructions.get(i), variables))
            .toList();
    this.releases =
        races
            && effects.stream()
                .anyMatch(effect ->
                    effect.releases()
                        && (effect.kind() == MemoryEffect.Kind.ACCESS
                            || effect.kind() == MemoryEffect.Kind.FENCE));
    this.messages = new SanitizerMessages(geometry, variables, effects);
    this.productRegisters = ProductRegisters.Uses.of(instructions);
    for (int i = 0; i < instructions.size(); i++) {
      numbers.put(instructions.get(i), i);
    }
  }

  /** Returns the number of an instruction in the kernel; 0 if it has none. */
  int number(Instruction instruction) {
    return numbers.getOrDefault(instruction, 0);
  }

  /**
   * Reports a lane's access.
   *
   * @param text describes it; called only if the report is kept
   */
  void report(Access access, int lane, Report.Kind kind, Supplier<SanitizerMessages.Text> text) {
    int number = access.effect().number();
    reports.add(
        kind, number, number, access.block, () -> messages.of(kind, access, lane, text.get()));
  }
}
