package dev.athanor.ops;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.bench.Suites;
import dev.athanor.ops.profile.OpProfile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The problems of production: the large ones of the suites, and those of {@code production.txt},
 * which differ from them in properties that change a kernel.
 */
public final class Production {

  private static final String PLAN = "plan ";
  private static final String RUN = "run ";
  private static final Map<String, List<String>> LINES = read();

  /** The GPUs of the ledger, as planners see them. */
  public static final List<Capability> GPUS =
      capabilities(Gpu.H200, Gpu.H100, Gpu.A100, Gpu.RTX_4090, Gpu.L4, Gpu.RTX_5090);

  /** GPUs of other targets. */
  private static final List<Capability> OTHER_GPUS =
      capabilities(Gpu.V100, Gpu.T4, Gpu.A10, Gpu.B200);

  private static List<Capability> capabilities(Gpu... gpus) {
    return Stream.of(gpus).map(OpProfile::capability).toList();
  }

  private Production() {}

  /** Returns the problems that are planned for every GPU. */
  public static List<Problem> planned(Op op) {
    return Stream.concat(Suites.of(op, true).stream(), parsed(op, PLAN)).toList();
  }

  /**
   * Returns problems with few blocks and the depth, rows and alignment of production. They use the
   * kernels that no case of the op uses.
   */
  public static List<Problem> run(Op op) {
    return parsed(op, RUN).toList();
  }

  /** Returns the plans of a problem on a GPU; empty if the GPU cannot compute it. */
  public static List<LaunchPlan> plans(Problem problem, Capability gpu) {
    try {
      return problem.plans(gpu).stream().map(LaunchPlan.class::cast).toList();
    } catch (OpException.UnsupportedOnDevice e) {
      return List.of();
    }
  }

  /** Returns the first choices of an op's planner on every GPU. */
  public static List<LaunchPlan> firstChoices(Op op) {
    return planned(op).stream()
        .flatMap(problem -> GPUS.stream().flatMap(gpu -> plans(problem, gpu).stream().limit(1)))
        .toList();
  }

  /**
   * Returns the targets for which the driver compiles each kernel: those on which a planner may
   * choose it.
   */
  public static Map<String, Set<Target>> targets(Op op) {
    var targets = new HashMap<String, Set<Target>>();
    for (var problem : Stream.concat(planned(op).stream(), parsed(op, RUN)).toList()) {
      for (var gpu : Stream.concat(GPUS.stream(), OTHER_GPUS.stream()).toList()) {
        for (var plan : plans(problem, gpu)) {
          for (var step : plan.steps()) {
            targets
                .computeIfAbsent(
                    step.variant().name(), _ -> new TreeSet<>(Comparator.comparingInt(Target::sm)))
                .add(new Target(gpu.target().sm(), false));
          }
        }
      }
    }
    return targets;
  }

  private static Stream<Problem> parsed(Op op, String kind) {
    return LINES.getOrDefault(op.description().name(), List.of()).stream()
        .filter(line -> line.startsWith(kind))
        .map(line -> Problem.parse(op, line.substring(kind.length())));
  }

  private static Map<String, List<String>> read() {
    var text = Objects.requireNonNull(Production.class.getResourceAsStream("/production.txt"));
    try (text) {
      var all = new HashMap<String, List<String>>();
      List<String> lines = new ArrayList<>();
      for (var line : new String(text.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        if (line.startsWith("[")) {
          lines = new ArrayList<>();
          all.put(line.substring(1, line.length() - 1), lines);
        } else if (line.startsWith(PLAN) || line.startsWith(RUN)) {
          lines.add(line);
        } else if (!line.isEmpty() && !line.startsWith("#")) {
          throw new IllegalStateException("production.txt: neither plan nor run: " + line);
        }
      }
      return all;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
