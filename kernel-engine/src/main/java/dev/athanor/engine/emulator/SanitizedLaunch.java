package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.Observer.Observed;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** What the sanitizers of a launch share: what is known of its kernel, and what they find. */
final class SanitizedLaunch {
  final Places places;
  final SyncPlaces released = new SyncPlaces();

  /** How many agents beside the threads there are. */
  final AtomicLong agents = new AtomicLong();

  /** How often tensor maps were changed, and which of those changes was the last of each. */
  final AtomicLong mapChanges = new AtomicLong();

  final Map<Long, Long> changedMaps = new ConcurrentHashMap<>();
  final boolean races;
  final Reports reports = new Reports();
  final List<Role> roles;
  final Sentences sentences;
  final ProductRegisters.Uses productRegisters;
  final Observed observed;
  final GlobalShadow shadow = new GlobalShadow();
  final IdentityHashMap<Instruction, Integer> numbers = new IdentityHashMap<>();

  /** The memory of kernels that allocate; null = there is none. */
  final @Nullable DeviceHeap heap;

  SanitizedLaunch(Observed observed, Dim3 cluster, Sanitize level, @Nullable DeviceHeap heap) {
    this.heap = heap;
    this.observed = observed;
    this.races = level == Sanitize.FULL;
    this.places = new Places(observed.kernel().name(), observed.grid(), observed.block(), cluster);
    var instructions = observed.instructions();
    var variables = new KernelVariables(observed.kernel(), instructions, observed.sharedBytes());
    this.roles =
        IntStream.range(0, instructions.size())
            .mapToObj(i -> Role.of(i, instructions.get(i), variables))
            .toList();
    this.sentences = new Sentences(places, variables, roles);
    this.productRegisters = ProductRegisters.Uses.of(instructions);
    for (int i = 0; i < instructions.size(); i++) {
      numbers.put(instructions.get(i), i);
    }
  }

  /** What has been found. */
  List<Report> reports() {
    return reports.all();
  }
}
