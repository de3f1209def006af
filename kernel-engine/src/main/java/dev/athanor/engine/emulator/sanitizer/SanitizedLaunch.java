package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.memory.DeviceHeap;
import dev.athanor.engine.emulator.memory.VariableExtents;
import dev.athanor.engine.emulator.watch.ClusterObserver;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.emulator.watch.LaunchObserver;
import dev.athanor.engine.emulator.watch.Observer.Observed;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** What the sanitizers of a launch share: what is known of its kernel, and what they find. */
public final class SanitizedLaunch implements LaunchObserver {
  final LaunchGeometry places;
  final ReleasedLocations released = new ReleasedLocations();

  /** How many agents beside the threads there are. */
  final AtomicLong agents = new AtomicLong();

  /** The last change of each tensor map in global memory by an instruction for such maps. */
  final Map<Long, TensorMapChange> changedMaps = new ConcurrentHashMap<>();

  final boolean races;

  /** Whether races are looked for and anything in the kernel releases what a thread knows. */
  final boolean releases;

  /**
   * Held during a strong access, so that what it reads or writes and what is acquired or released
   * there belong together.
   */
  final ReentrantLock strong = new ReentrantLock();

  final Reports reports;
  final List<MemoryEffect> roles;
  final SanitizerMessages sentences;
  final ProductRegisters.Uses productRegisters;
  final Observed observed;
  final GlobalShadow shadow = new GlobalShadow();
  final IdentityHashMap<Instruction, Integer> numbers = new IdentityHashMap<>();

  /** The memory of kernels that allocate; null = there is none. */
  final @Nullable DeviceHeap heap;

  /**
   * @param races whether to look for races as well as for misused memory and barriers
   * @param ignored kinds that are not reported
   */
  public SanitizedLaunch(Observed observed, boolean races, Set<Report.Kind> ignored) {
    this.heap = observed.heap();
    this.observed = observed;
    this.races = races;
    this.reports = new Reports(ignored);
    this.places =
        new LaunchGeometry(
            observed.kernel().name(), observed.grid(), observed.block(), observed.cluster());
    var instructions = observed.instructions();
    var variables = new VariableExtents(observed.kernel(), instructions, observed.sharedBytes());
    this.roles =
        IntStream.range(0, instructions.size())
            .mapToObj(i -> MemoryEffect.of(i, instructions.get(i), variables))
            .toList();
    this.releases =
        races
            && roles.stream()
                .anyMatch(role ->
                    role.releases()
                        && (role.kind() == MemoryEffect.Kind.ACCESS
                            || role.kind() == MemoryEffect.Kind.FENCE));
    this.sentences = new SanitizerMessages(places, variables, roles);
    this.productRegisters = ProductRegisters.Uses.of(instructions);
    for (int i = 0; i < instructions.size(); i++) {
      numbers.put(instructions.get(i), i);
    }
  }

  @Override
  public ClusterObserver observeClusters() {
    return new ClusterHistory(this);
  }

  @Override
  public List<Report> reports() {
    return reports.all();
  }
}
