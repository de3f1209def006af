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
 * Compares a device with the emulator, one instruction at a time: bit by bit if the manual defines
 * the result, within its error bounds for approximations. The emulator uses the device's target,
 * including the arithmetic of its tensor cores.
 */
public final class Conformance {

  /** Kernels per module: few modules, but none that compiles too long. */
  private static final int BATCH = 64;

  private static final long MEMORY_BYTES = 1L << 28;

  private final Device device;
  private final List<Probe> probes;
  private final long seed;

  /**
   * Selects the instructions to compare.
   *
   * @param device device to compare
   * @param mnemonics instructions to compare; empty = all
   * @param quick whether to compare only one spelling in sixteen
   * @param seed seed of the operands
   * @param part the part of the instructions to compare
   * @throws IllegalArgumentException if a mnemonic is not a register-to-register instruction
   */
  public Conformance(
      Device device, Collection<String> mnemonics, boolean quick, long seed, Part part) {
    this.device = device;
    this.seed = seed;
    var all = Probe.all(device.capability().target());
    for (var mnemonic : mnemonics) {
      if (all.stream().noneMatch(probe -> probe.mnemonic().equals(mnemonic))) {
        throw new IllegalArgumentException(
            "\"%s\" is not a register-to-register instruction; use one of %s"
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
    probes = part.of(quick ? sample(chosen) : chosen);
  }

  /** Returns the first spelling of each mnemonic, and then one in sixteen. */
  private static List<Probe> sample(List<Probe> all) {
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

  /** Returns the number of instructions to compare. */
  public int size() {
    return probes.size();
  }

  /**
   * Compares all instructions, or those before a fault after which the device is lost.
   *
   * @param each receives each finding and, unless the device failed, a candidate golden
   */
  public void run(BiConsumer<Finding, Optional<Golden>> each) {
    boolean usable = true;
    for (int from = 0; usable && from < probes.size(); from += BATCH) {
      usable = compare(probes.subList(from, Math.min(probes.size(), from + BATCH)), each);
    }
  }

  /** Compares some instructions and returns whether the device is still usable. */
  private boolean compare(List<Probe> batch, BiConsumer<Finding, Optional<Golden>> each) {
    var module = Probe.module(batch, device.capability().target());
    try {
      device.load(module, Probe.kernelName(0));
    } catch (DeviceException.LoadFailed e) {
      if (batch.size() == 1) {
        each.accept(
            Finding.failed(batch.getFirst(), String.valueOf(e.getMessage())), Optional.empty());
        return true;
      }
      return compare(batch.subList(0, batch.size() / 2), each) // bisect
          && compare(batch.subList(batch.size() / 2, batch.size()), each);
    } catch (DeviceException.Lost e) {
      each.accept(
          Finding.failed(batch.getFirst(), String.valueOf(e.getMessage())), Optional.empty());
      return false;
    }
    try (var emulator = emulator()) {
      boolean usable = true;
      for (int i = 0; usable && i < batch.size(); i++) {
        usable = compare(batch.get(i), module, Probe.kernelName(i), emulator, each);
      }
      return usable;
    }
  }

  private EmulatedDevice emulator() {
    return new EmulatedDevice(
        EmulatorOptions.DEFAULT
            .withTarget(device.capability().target())
            .withMemoryBytes(MEMORY_BYTES));
  }

  private boolean compare(
      Probe probe,
      Module module,
      String name,
      Device emulator,
      BiConsumer<Finding, Optional<Golden>> each) {
    var values = new OperandGenerator(probe, seed);
    var sources = values.generate();
    var expected = run(emulator, probe, emulator.load(module, name), values, sources);
    long[] results;
    try {
      results = run(device, probe, device.load(module, name), values, sources);
    } catch (DeviceException e) {
      each.accept(Finding.failed(probe, String.valueOf(e.getMessage())), Optional.empty());
      return !(e instanceof DeviceException.Lost);
    }
    each.accept(
        compare(probe, values.threads(), sources, expected, results),
        Optional.of(Golden.of(probe, seed, sources, expected, results)));
    return true;
  }

  private static long[] run(
      Device on, Probe probe, LoadedKernel kernel, OperandGenerator values, long[] sources) {
    return new ProbeRunner(on).run(probe, kernel, values.threads(), sources);
  }

  /** Compares the results of all threads with the expected ones. */
  static Finding compare(
      Probe probe, int threads, long[] sources, long[] expected, long[] results) {
    var tolerance = Tolerance.of(probe.instruction());
    int count = probe.results().size();
    int perThread = probe.sources().size();
    int equal = 0;
    int wrong = 0;
    int unspecified = 0;
    var examples = new ArrayList<Finding.Example>();
    for (int thread = 0; thread < threads; thread++) {
      boolean covered = tolerance.isDefined(probe, sources, thread * perThread);
      for (int i = 0; i < count; i++) {
        int at = thread * count + i;
        if (!covered) {
          unspecified++;
        } else if (expected[at] == results[at]) {
          equal++;
        } else if (!tolerance.accepts(probe.results().get(i).type(), expected[at], results[at])) {
          wrong++;
          if (examples.size() < Finding.EXAMPLES) {
            examples.add(
                new Finding.Example(
                    thread,
                    java.util.Arrays.stream(sources, thread * perThread, (thread + 1) * perThread)
                        .boxed()
                        .toList(),
                    i,
                    expected[at],
                    results[at]));
          }
        }
      }
    }
    return new Finding(
        probe, threads * count - unspecified, equal, wrong, unspecified, examples, "");
  }
}
