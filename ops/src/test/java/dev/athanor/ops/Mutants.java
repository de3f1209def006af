package dev.athanor.ops;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.run.HostRun;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Kernels without one of the instructions that order asynchronous work: barriers, fences, arrivals,
 * commits and waits.
 */
public final class Mutants {

  private static final Pattern ORDERING =
      Pattern.compile(
          "mbarrier\\..*|fence\\..*|bar\\.(warp\\.)?sync|bar\\.arrive|barrier\\.cluster\\..*"
              + "|wgmma\\.(fence|commit_group|wait_group)\\..*"
              + "|cp\\.async\\.bulk\\.(commit_group|wait_group.*)"
              + "|griddepcontrol\\.wait");

  private Mutants() {}

  private record Mutant(Kernel kernel) implements Variant {
    @Override
    public String name() {
      return kernel.name();
    }

    @Override
    public Kernel build() {
      return kernel;
    }
  }

  /**
   * Returns the instructions without which the kernels of a plan still pass: the sanitizer reports
   * nothing, and the outputs are right, whenever asynchronous work completes.
   */
  public static List<String> unnoticed(
      LaunchPlan plan,
      Map<String, HostTensor> inputs,
      Predicate<? super Map<String, HostTensor>> isRight) {
    return IntStream.range(0, plan.steps().size())
        .boxed()
        .flatMap(index -> unnoticed(plan, index, inputs, isRight))
        .toList();
  }

  private static Stream<String> unnoticed(
      LaunchPlan plan,
      int index,
      Map<String, HostTensor> inputs,
      Predicate<? super Map<String, HostTensor>> isRight) {
    var step = plan.steps().get(index);
    return of(step.variant().build()).entrySet().stream()
        .filter(each -> {
          var steps = new ArrayList<>(plan.steps());
          steps.set(
              index,
              new Step(
                  new Mutant(each.getValue()),
                  step.grid(),
                  step.block(),
                  step.sharedBytes(),
                  step.arguments(),
                  step.dependent()));
          var mutant =
              new LaunchPlan(
                  plan.kernel(),
                  plan.outputs(),
                  steps,
                  plan.workspaceBytes(),
                  plan.cost(),
                  plan.explain());
          return Stream.of(AsyncTiming.values())
              .allMatch(timing -> passes(mutant, inputs, isRight, timing));
        })
        .map(Map.Entry::getKey);
  }

  private static boolean passes(
      LaunchPlan plan,
      Map<String, HostTensor> inputs,
      Predicate<? super Map<String, HostTensor>> isRight,
      AsyncTiming timing) {
    var options =
        EmulatorOptions.DEFAULT
            .withTarget(Target.SM_90A)
            .withSanitize(Sanitize.FULL)
            .withAsyncTiming(timing);
    try (var device = new EmulatedDevice(options)) {
      return isRight.test(HostRun.of(device, new KernelCache(device), plan, inputs).outputs());
    } catch (DeviceException reported) {
      return false;
    }
  }

  /** Returns the mutants of a kernel by the instruction that each lacks, with its place. */
  private static Map<String, Kernel> of(Kernel kernel) {
    var all = new LinkedHashMap<String, Kernel>();
    for (int i = 0; i < kernel.body().size(); i++) {
      if (kernel.body().get(i) instanceof Statement.Instruction instruction
          && ORDERING.matcher(instruction.opcode()).matches()) {
        var body = new ArrayList<>(kernel.body());
        body.remove(i);
        if (instruction.opcode().startsWith("mbarrier.try_wait")) {
          body.remove(i); // the branch that repeats it
        }
        all.put(
            "%d: %s at %s".formatted(i, instruction, instruction.source()), kernel.withBody(body));
      }
    }
    return all;
  }
}
