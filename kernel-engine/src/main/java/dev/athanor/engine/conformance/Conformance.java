package dev.athanor.engine.conformance;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Module;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;

/**
 * Compares a device with the emulator, instruction by instruction: bit by bit where the manual
 * defines the answer, and within its bounds for the approximations. The emulator takes the device's
 * target, and so the sums of its tensor cores.
 */
public final class Conformance {

  /** How many kernels a module has, to load few but not too long ones. */
  private static final int BATCH = 64;

  private static final long MEMORY = 1L << 28;

  private final Device device;
  private final List<Probe> probes;
  private final long seed;

  /**
   * @param device to compare
   * @param mnemonics of the instructions to compare; empty = all
   * @param quick one spelling in sixteen
   * @param seed of the operands
   * @throws IllegalArgumentException when the table has no such instruction from registers to
   *     registers
   */
  public Conformance(Device device, Collection<String> mnemonics, boolean quick, long seed) {
    this.device = device;
    this.seed = seed;
    var all = Probe.all(device.capability().target());
    for (var mnemonic : mnemonics) {
      if (all.stream().noneMatch(probe -> probe.mnemonic().equals(mnemonic))) {
        throw new IllegalArgumentException(
            "no instruction \"%s\" from registers to registers; there are %s"
                .formatted(
                    mnemonic,
                    String.join(
                        ", ", all.stream().map(Probe::mnemonic).distinct().sorted().toList())));
      }
    }
    var chosen =
        all.stream()
            .filter(probe -> mnemonics.isEmpty() || mnemonics.contains(probe.mnemonic()))
            .toList();
    probes = quick ? some(chosen) : chosen;
  }

  /** The first spelling of each mnemonic and then one in sixteen. */
  private static List<Probe> some(List<Probe> all) {
    var some = new ArrayList<Probe>();
    int left = 0;
    var last = "";
    for (var probe : all) {
      left = probe.mnemonic().equals(last) ? left - 1 : 0;
      last = probe.mnemonic();
      if (left <= 0) {
        some.add(probe);
        left = 16;
      }
    }
    return some;
  }

  /** How many instructions are compared. */
  public int size() {
    return probes.size();
  }

  /**
   * Compares them all.
   *
   * @param each takes each finding and, unless the device refused the kernel, the answers that may
   *     become a golden
   * @throws DeviceException when the device fails otherwise than by refusing a kernel
   */
  public void run(BiConsumer<Finding, Optional<Golden>> each) {
    for (int from = 0; from < probes.size(); from += BATCH) {
      compare(probes.subList(from, Math.min(probes.size(), from + BATCH)), each);
    }
  }

  private void compare(List<Probe> batch, BiConsumer<Finding, Optional<Golden>> each) {
    var module = Probe.module(batch, device.capability().target());
    try {
      device.load(module, Probe.kernelName(0));
    } catch (DeviceException.LoadFailed e) {
      if (batch.size() == 1) {
        each.accept(
            Finding.refused(batch.getFirst(), String.valueOf(e.getMessage())), Optional.empty());
      } else { // find out which
        compare(batch.subList(0, batch.size() / 2), each);
        compare(batch.subList(batch.size() / 2, batch.size()), each);
      }
      return;
    }
    try (var emulator = emulator()) {
      for (int i = 0; i < batch.size(); i++) {
        compare(batch.get(i), module, Probe.kernelName(i), emulator, each);
      }
    }
  }

  private EmulatedDevice emulator() {
    return new EmulatedDevice(
        EmulatorOptions.DEFAULT.withTarget(device.capability().target()).withMemoryBytes(MEMORY));
  }

  private void compare(
      Probe probe,
      Module module,
      String name,
      Device emulator,
      BiConsumer<Finding, Optional<Golden>> each) {
    var values = new Values(probe, seed);
    var sources = values.draw();
    var wanted = run(emulator, probe, emulator.load(module, name), values, sources);
    var answers = run(device, probe, device.load(module, name), values, sources);
    each.accept(
        compare(probe, values.threads(), sources, wanted, answers),
        Optional.of(Golden.of(probe, seed, sources, wanted, answers)));
  }

  private static long[] run(
      Device on, Probe probe, LoadedKernel kernel, Values values, long[] sources) {
    return new Run(on).of(probe, kernel, values.threads(), sources);
  }

  /** Compares the answers of all threads with the right ones. */
  static Finding compare(Probe probe, int threads, long[] sources, long[] wanted, long[] answers) {
    var tolerance = Tolerance.of(probe.instruction());
    int count = probe.results().size();
    int perThread = probe.sources().size();
    int equal = 0;
    int wrong = 0;
    int unspecified = 0;
    var examples = new ArrayList<Finding.Example>();
    for (int thread = 0; thread < threads; thread++) {
      boolean covered = tolerance.covers(probe, sources, thread * perThread);
      for (int i = 0; i < count; i++) {
        int at = thread * count + i;
        if (!covered) {
          unspecified++;
        } else if (wanted[at] == answers[at]) {
          equal++;
        } else if (!tolerance.accepts(probe.results().get(i).type(), wanted[at], answers[at])) {
          wrong++;
          if (examples.size() < Finding.EXAMPLES) {
            examples.add(
                new Finding.Example(
                    thread,
                    java.util.Arrays.stream(sources, thread * perThread, (thread + 1) * perThread)
                        .boxed()
                        .toList(),
                    i,
                    wanted[at],
                    answers[at]));
          }
        }
      }
    }
    return new Finding(
        probe, threads * count - unspecified, equal, wrong, unspecified, examples, "");
  }
}
