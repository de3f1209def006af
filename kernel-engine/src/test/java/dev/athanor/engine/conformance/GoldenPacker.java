package dev.athanor.engine.conformance;

import dev.athanor.engine.ptx.Target;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Packs goldens for the repository. Exact instructions keep only the digest of the device's
 * results; {@code athanor verify --goldens} also writes the results themselves where the emulator
 * disagreed, which is what one needs to mend it.
 */
final class GoldenPacker {

  private GoldenPacker() {}

  /** Packs the files of one device, {@code FROM… TO}, into one file. */
  public static void main(String[] arguments) throws IOException {
    var paths = Arrays.stream(arguments).map(Path::of).toList();
    var files = new ArrayList<Golden.File>();
    for (var path : paths.subList(0, paths.size() - 1)) {
      files.add(Golden.read(path));
    }
    var first = files.getFirst();
    var all = files.stream().flatMap(file -> file.goldens().stream()).toList();
    Golden.write(paths.getLast(), first.target(), first.origin(), packed(all, first.target()));
  }

  static List<Golden> packed(List<Golden> goldens, Target target) {
    Map<String, Probe> probes =
        Probe.all(target).stream().collect(Collectors.toMap(Probe::name, Function.identity()));
    return goldens.stream()
        .map(golden ->
            isExact(Objects.requireNonNull(probes.get(golden.name()), golden.name()))
                ? new Golden(golden.name(), golden.seed(), golden.digest(), List.of())
                : golden)
        .toList();
  }

  private static boolean isExact(Probe probe) {
    return Tolerance.of(probe.instruction()).isExact();
  }
}
