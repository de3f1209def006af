package dev.athanor.cli.debug;

import dev.athanor.cli.argument.EmulatorArguments;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.engine.debug.Debuggee;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.profile.EmulatedPlan;
import dev.athanor.ops.profile.OpProfile;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The launches of an op, with the same random inputs as {@code athanor profile}. */
final class OpDebuggee implements Debuggee {

  /** The options of {@code athanor profile} that select the op, and those of the emulator. */
  @Command(name = "debug")
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Arguments {
    @Mixin private OpArguments op;

    @Mixin private PluginsOption plugins;

    @Mixin private EmulatorArguments emulator;

    @Option(names = "--kernel")
    private @Nullable String variant;

    @Option(names = "--target")
    private @Nullable String target;
  }

  private final Problem problem;
  private final Plan plan;
  private final EmulatorOptions options;

  private OpDebuggee(Problem problem, Plan plan, EmulatorOptions options) {
    this.problem = problem;
    this.plan = plan;
    this.options = options;
  }

  /**
   * @throws IllegalArgumentException if an argument is invalid
   */
  static OpDebuggee of(List<String> words) {
    var arguments = RequestWords.read(new Arguments(), words);
    try {
      var options = arguments.emulator.options();
      if (arguments.target != null) {
        options = options.withTarget(target(arguments.target));
      }
      var problem = arguments.op.problem(arguments.plugins.catalogue());
      try (var device = new EmulatedDevice(options)) {
        var plans = arguments.op.plans(problem, device.capability());
        return new OpDebuggee(problem, choose(plans, arguments.variant), options);
      }
    } catch (ParameterException e) {
      throw RequestWords.sentence(e);
    }
  }

  private static Target target(String text) {
    try {
      return Target.of(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("`target` %s: %s".formatted(text, e.getMessage()), e);
    }
  }

  private static Plan choose(List<? extends Plan> plans, @Nullable String variant) {
    return plans.stream()
        .filter(plan -> variant == null || plan.kernel().equals(variant))
        .findFirst()
        .orElseThrow(() ->
            new IllegalArgumentException(
                "`kernel` %s: expected one of %s"
                    .formatted(
                        variant,
                        plans.stream().map(Plan::kernel).collect(Collectors.joining(", ")))));
  }

  /** Returns the type of a tensor's elements; packed blocks are bytes. */
  static Type element(DType type) {
    return switch (type) {
      case F64 -> Type.F64;
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      case E4M3 -> Type.E4M3;
      case E5M2 -> Type.E5M2;
      case I64 -> Type.S64;
      case I32 -> Type.S32;
      case U32 -> Type.U32;
      case I16 -> Type.S16;
      case I8 -> Type.S8;
      case U8, BOOL -> Type.U8;
      case Q4_0, Q4_1, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4, NF4 -> Type.B8;
    };
  }

  @Override
  public List<Instruction> instructions() {
    return plan.kernels().stream().flatMap(Kernel::instructions).toList();
  }

  @Override
  public EmulatorOptions options() {
    return options;
  }

  @Override
  public void run(EmulatorOptions with, Consumer<NamedBuffer> buffers) {
    EmulatedPlan.run(
        plan,
        problem.inputs(),
        () -> problem.draw(new SplittableRandom(OpProfile.SEED)),
        with,
        (name, tensor) ->
            buffers.accept(new NamedBuffer(name, tensor.buffer(), element(tensor.type().dtype()))));
  }
}
