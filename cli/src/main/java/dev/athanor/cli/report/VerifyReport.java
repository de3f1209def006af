package dev.athanor.cli.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.bench.Units;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The results of {@code athanor verify}.
 *
 * @param planned number of planned checks; more than {@code checks} if the device was lost
 * @param unchecked ops without any check
 * @param spills kernels that spill registers on the device, which are correct but slow
 */
public record VerifyReport(
    Build athanor,
    Machine device,
    Instant date,
    double seconds,
    Scope scope,
    boolean ok,
    int checks,
    int planned,
    List<Variant> variants,
    List<Failed> failures,
    List<Verification.Skipped> skipped,
    List<String> unchecked,
    List<KernelCache.Spill> spills)
    implements SuiteReport {

  /** The scope of the checks. */
  public record Scope(String suite, boolean quick, long seed) {}

  /**
   * A kernel variant.
   *
   * @param worst the maximum error relative to the tolerance
   * @param median the median error relative to the tolerance
   */
  record Variant(String op, String kernel, int cases, double worst, double median, int failures) {}

  /**
   * A check that failed.
   *
   * @param number the number of the case
   * @param repeat the command that repeats the case, for all variants
   */
  record Failed(
      String op,
      String kernel,
      int number,
      Map<String, String> inputs,
      Map<String, Object> attributes,
      Check.Kind kind,
      String sentence,
      double error,
      double limit,
      String repeat) {

    List<String> lines() {
      return List.of(
          "FAILED %s, kernel %s, case %d".formatted(op, kernel.isEmpty() ? "none" : kernel, number),
          "  " + sentence,
          "  error %.3g, limit %.3g".formatted(error, limit),
          "  inputs %s, attributes %s".formatted(text(inputs), text(quoted(attributes))),
          "  repeat: " + repeat,
          "");
    }

    private static String text(Map<String, String> map) {
      return map.isEmpty()
          ? "none"
          : map.entrySet().stream()
              .map(each -> each.getKey() + "=" + each.getValue())
              .collect(Collectors.joining(" "));
    }

    /** Returns the values as text; quotes enclose those that are empty or contain blanks. */
    private static Map<String, String> quoted(Map<String, Object> attributes) {
      var texts = new LinkedHashMap<String, String>();
      attributes.forEach((name, value) -> {
        var text = Attributes.text(value);
        texts.put(name, text.isEmpty() || text.contains(" ") ? "\"" + text + "\"" : text);
      });
      return texts;
    }
  }

  public static VerifyReport of(
      Machine machine,
      Instant date,
      double seconds,
      Scope scope,
      List<String> ops,
      Verification verification,
      List<Check> checks) {
    var byVariant = new LinkedHashMap<List<String>, List<Check>>();
    for (var check : checks) {
      byVariant
          .computeIfAbsent(List.of(check.op(), check.kernel()), _ -> new ArrayList<>())
          .add(check);
    }
    var failures =
        checks.stream()
            .flatMap(check ->
                check.failure().stream().map(failure -> failed(machine, scope, check, failure)))
            .toList();
    var unchecked =
        ops.stream().filter(op -> checks.stream().noneMatch(c -> c.op().equals(op))).toList();
    return new VerifyReport(
        Build.current(),
        machine,
        date,
        seconds,
        scope,
        failures.isEmpty() && unchecked.isEmpty() && checks.size() == verification.size(),
        checks.size(),
        verification.size(),
        byVariant.values().stream().map(VerifyReport::variant).toList(),
        failures,
        verification.skipped(),
        unchecked,
        verification.spills());
  }

  private static Variant variant(List<Check> checks) {
    var shares = checks.stream().mapToDouble(Check::share).sorted().toArray();
    return new Variant(
        checks.getFirst().op(),
        checks.getFirst().kernel(),
        checks.size(),
        shares[shares.length - 1],
        (shares[(shares.length - 1) / 2] + shares[shares.length / 2]) / 2,
        (int) checks.stream().filter(check -> check.failure().isPresent()).count());
  }

  private static Failed failed(Machine machine, Scope scope, Check check, Check.Failure failure) {
    return new Failed(
        check.op(),
        check.kernel(),
        check.number(),
        types(check.inputs()),
        new TreeMap<>(check.attributes().values()),
        failure.kind(),
        failure.sentence(),
        check.error(),
        check.limit(),
        "athanor verify --device %s%s --seed %d --op %s --case %d"
            .formatted(
                machine.option(),
                scope.quick ? " --quick" : "",
                scope.seed,
                check.op(),
                check.number()));
  }

  private static Map<String, String> types(Map<String, TensorType> inputs) {
    var types = new TreeMap<String, String>();
    inputs.forEach((name, type) -> types.put(name, type.toString()));
    return types;
  }

  @Override
  @JsonIgnore
  public Table table() {
    var table = new Table("op", "kernel", "cases", "worst error", "verdict");
    for (var variant : variants) {
      table.add(
          variant.op,
          variant.kernel,
          Integer.toString(variant.cases),
          "%.1f%%".formatted(100 * variant.worst),
          variant.failures == 0 ? "ok" : "FAILED");
    }
    return table;
  }

  /** One row per op. */
  @Override
  @JsonIgnore
  public Table overview() {
    var table = new Table("op", "kernels", "checks", "failed", "worst error", "verdict");
    var byOp = new LinkedHashMap<String, List<Variant>>();
    for (var variant : variants) {
      byOp.computeIfAbsent(variant.op, _ -> new ArrayList<>()).add(variant);
    }
    byOp.forEach((op, kernels) -> {
      int failed = kernels.stream().mapToInt(Variant::failures).sum();
      double worst = kernels.stream().mapToDouble(Variant::worst).max().orElse(0);
      table.add(
          op,
          Integer.toString(kernels.size()),
          Integer.toString(kernels.stream().mapToInt(Variant::cases).sum()),
          Integer.toString(failed),
          "%.1f%%".formatted(100 * worst),
          failed == 0 ? "ok" : "FAILED");
    });
    return table;
  }

  @Override
  @JsonIgnore
  public List<String> complaints() {
    return Stream.concat(
            failures.stream().flatMap(failure -> failure.lines().stream()),
            spills.stream().map(VerifyReport::line))
        .toList();
  }

  /** Returns the note on a kernel that spills. */
  static String line(KernelCache.Spill spill) {
    return "SPILLS kernel %s: %d bytes of registers per thread are spilled to local memory; its results are correct, but it is slower than planned"
        .formatted(spill.kernel(), spill.bytes());
  }

  @Override
  public String summary() {
    var summary = new StringBuilder();
    summary.append(
        "%s: %d checks of %d kernel variants in %s, %d failed; errors are relative to the tolerance; seed %d"
            .formatted(
                ok ? "ok" : "FAILED",
                checks,
                variants.size(),
                Units.time(1e6 * seconds),
                failures.size(),
                scope.seed));
    if (!skipped.isEmpty()) {
      summary.append(
          "%n%d cases were skipped, the first because %s"
              .formatted(skipped.size(), skipped.getFirst().reason()));
    }
    if (checks < planned) {
      summary.append("%nthe device was lost; %d checks were not made".formatted(planned - checks));
    }
    if (!unchecked.isEmpty()) {
      summary.append("%nops without checks: %s".formatted(String.join(", ", unchecked)));
    }
    if (!spills.isEmpty()) {
      summary.append("%n%d kernels spill registers on this device".formatted(spills.size()));
    }
    return summary.toString();
  }
}
