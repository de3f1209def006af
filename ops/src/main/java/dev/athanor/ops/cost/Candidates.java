package dev.athanor.ops.cost;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The candidate plans that a planner considers: offered with their cost, or rejected. */
public final class Candidates {

  /** The oldest target that kernels are rewritten for. */
  private static final Target OLDEST = new Target(70, false);

  private final String op;
  private final Capability device;
  private final List<Candidate> all = new ArrayList<>();

  /**
   * A candidate plan.
   *
   * @param microseconds expected time; infinite if unusable
   * @param reason why it is unusable, or how it computes
   */
  private record Candidate(
      String name,
      String order,
      double microseconds,
      String reason,
      List<Step> steps,
      long workspaceBytes) {

    boolean usable() {
      return Double.isFinite(microseconds);
    }
  }

  /** Creates an empty list of candidates for an op on a device. */
  public Candidates(String op, Capability device) {
    this.op = op;
    this.device = device;
  }

  /**
   * Adds a candidate with an order of its own, or rejects it if a step exceeds the limits of the
   * device.
   *
   * @param name the kernel variant, as {@link Plan#kernel()}
   * @param microseconds expected time, from {@link Machine}
   * @param how a description for {@link Plan#explain()}
   */
  public Candidates offer(
      String name, double microseconds, String how, List<Step> steps, long workspaceBytes) {
    return offer(name, name, microseconds, how, steps, workspaceBytes);
  }

  /**
   * Adds a candidate, or rejects it if a step exceeds the limits of the device.
   *
   * @param name the kernel variant, as {@link Plan#kernel()}
   * @param order what determines the bits of a row, as {@link Plan#order()}
   * @param microseconds expected time, from {@link Machine}
   * @param how a description for {@link Plan#explain()}
   */
  public Candidates offer(
      String name,
      String order,
      double microseconds,
      String how,
      List<Step> steps,
      long workspaceBytes) {
    if (!runs(OLDEST, name)) {
      return this;
    }
    var refusal = steps.stream().flatMap(step -> step.refusal(device).stream()).findFirst();
    if (refusal.isPresent()) {
      return refuse(name, refusal.get());
    }
    var reason = String.format(Locale.ROOT, "about %.1f us, %s", microseconds, how);
    all.add(new Candidate(name, order, microseconds, reason, List.copyOf(steps), workspaceBytes));
    return this;
  }

  /** Adds a candidate with one launch, no workspace and the name of its variant. */
  public Candidates offer(double microseconds, String how, Step step) {
    return offer(step.variant().name(), microseconds, how, List.of(step), 0);
  }

  /** Adds an unusable candidate with the reason. */
  public Candidates refuse(String name, String reason) {
    all.add(new Candidate(name, name, Double.POSITIVE_INFINITY, reason, List.of(), 0));
    return this;
  }

  /** Returns whether the device runs a target; rejects the candidate otherwise. */
  public boolean runs(Target target, String name) {
    if (device.target().canRun(target)) {
      return true;
    }
    refuse(name, "requires %s; the device is %s".formatted(target, device.target()));
    return false;
  }

  /**
   * Returns the plans of all usable candidates, the cheapest first.
   *
   * @throws OpException.UnsupportedOnDevice if there is none; the message lists the reasons
   */
  public List<LaunchPlan> plans(Map<String, TensorType> outputs, Plan.Cost cost) {
    var ranked = all.stream().sorted(Comparator.comparingDouble(Candidate::microseconds)).toList();
    var plans =
        ranked.stream()
            .filter(Candidate::usable)
            .map(chosen ->
                new LaunchPlan(
                    chosen.name,
                    chosen.order,
                    outputs,
                    chosen.steps,
                    Optional.empty(),
                    chosen.workspaceBytes,
                    cost,
                    explain(chosen, ranked)))
            .toList();
    if (plans.isEmpty()) {
      throw new OpException.UnsupportedOnDevice(
          "device",
          "%s (%s) cannot compute this %s: %s"
              .formatted(
                  device.name(),
                  device.target(),
                  op,
                  ranked.stream()
                      .map(Candidate::reason)
                      .distinct()
                      .collect(Collectors.joining("; "))));
    }
    return plans;
  }

  private static String explain(Candidate chosen, List<Candidate> ranked) {
    return ranked.stream()
        .map(candidate ->
            "%s %s: %s"
                .formatted(candidate.equals(chosen) ? "*" : " ", candidate.name, candidate.reason))
        .collect(Collectors.joining("\n", chosen.name + "\n", ""));
  }
}
