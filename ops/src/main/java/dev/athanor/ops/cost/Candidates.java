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
import java.util.stream.Collectors;

/**
 * The ways to compute a problem that a planner looks at: offered with what they cost, or refused.
 */
public final class Candidates {

  private final String op;
  private final Capability device;
  private final List<Candidate> all = new ArrayList<>();

  /**
   * A way to compute the problem.
   *
   * @param microseconds expected time; infinite for one that cannot be used
   * @param reason why it cannot be used, or how it computes
   */
  private record Candidate(
      String name, double microseconds, String reason, List<Step> steps, long workspaceBytes) {

    boolean usable() {
      return Double.isFinite(microseconds);
    }
  }

  /** No candidates yet for an op on a device. */
  public Candidates(String op, Capability device) {
    this.op = op;
    this.device = device;
  }

  /**
   * Adds a way that the device may run; where a step is beyond its limits it is refused instead.
   *
   * @param name the kernel variant, as {@link Plan#kernel()}
   * @param microseconds expected time, from {@link Machine}
   * @param how it computes, for {@link Plan#explain()}
   */
  public Candidates offer(
      String name, double microseconds, String how, List<Step> steps, long workspaceBytes) {
    var refusal = steps.stream().flatMap(step -> step.refusal(device).stream()).findFirst();
    if (refusal.isPresent()) {
      return refuse(name, refusal.get());
    }
    var reason = String.format(Locale.ROOT, "about %.1f us, %s", microseconds, how);
    all.add(new Candidate(name, microseconds, reason, List.copyOf(steps), workspaceBytes));
    return this;
  }

  /** Returns a way of one launch without workspace, which is called as its variant is. */
  public Candidates offer(double microseconds, String how, Step step) {
    return offer(step.variant().name(), microseconds, how, List.of(step), 0);
  }

  /** Adds a way that cannot be used, and why. */
  public Candidates refuse(String name, String reason) {
    all.add(new Candidate(name, Double.POSITIVE_INFINITY, reason, List.of(), 0));
    return this;
  }

  /** Returns whether the device runs a target; where it does not the candidate is refused for that. */
  public boolean runs(Target target, String name) {
    if (device.target().canRun(target)) {
      return true;
    }
    refuse(name, "it needs %s, the device is %s".formatted(target, device.target()));
    return false;
  }

  /**
   * Returns the plans of all usable ways, the cheapest first.
   *
   * @throws OpException.UnsupportedOnDevice when there is none, with each way's reason
   */
  public List<LaunchPlan> plans(Map<String, TensorType> outputs, Plan.Cost cost) {
    var ranked = all.stream().sorted(Comparator.comparingDouble(Candidate::microseconds)).toList();
    var plans =
        ranked.stream()
            .filter(Candidate::usable)
            .map(chosen ->
                new LaunchPlan(
                    chosen.name,
                    outputs,
                    chosen.steps,
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
