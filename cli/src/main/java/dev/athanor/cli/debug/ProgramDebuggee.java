package dev.athanor.cli.debug;

import dev.athanor.cli.argument.EmulatorArguments;
import dev.athanor.cli.argument.KernelArgument;
import dev.athanor.cli.argument.KernelArgument.Tensor;
import dev.athanor.cli.argument.ProgramArguments;
import dev.athanor.engine.debug.Debuggee;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.check.Inliner;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.ParameterException;

/** A launch of a kernel of a PTX file. */
final class ProgramDebuggee implements Debuggee {

  /** The options of {@code athanor emulate}. */
  @Command(name = "debug")
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Arguments {
    @Mixin private ProgramArguments program;

    @Mixin private EmulatorArguments emulator;
  }

  private final ProgramArguments program;
  private final Module module;
  private final Kernel kernel;
  private final List<KernelArgument> values;
  private final EmulatorOptions options;
  private final List<Instruction> instructions;

  private ProgramDebuggee(Arguments arguments) {
    this.program = arguments.program;
    this.module = program.module();
    this.kernel = program.kernel(module);
    this.values = program.values();
    this.options = arguments.emulator.options().withTarget(program.target(module));
    this.instructions = new Inliner(module).kernel(kernel.name()).instructions().toList();
    run(options.withBlocks(1), _ -> {}, false); // reports errors now
  }

  /**
   * @throws IllegalArgumentException if an argument is invalid
   */
  static ProgramDebuggee of(List<String> words) {
    var arguments = RequestWords.read(new Arguments(), words);
    try {
      return new ProgramDebuggee(arguments);
    } catch (ParameterException e) {
      throw RequestWords.sentence(e);
    } catch (DeviceException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  @Override
  public List<Instruction> instructions() {
    return instructions;
  }

  @Override
  public EmulatorOptions options() {
    return options;
  }

  @Override
  public void run(EmulatorOptions with, Consumer<NamedBuffer> named) {
    run(with, named, true);
  }

  /** Runs the launch, or only checks that it is valid. */
  private void run(EmulatorOptions with, Consumer<NamedBuffer> named, boolean launches) {
    try (var device = new EmulatedDevice(with);
        var stream = device.openStream()) {
      var buffers = new ArrayList<Buffer>();
      var given = new ArrayList<Argument>();
      for (int i = 0; i < values.size(); i++) {
        int before = buffers.size();
        given.add(values.get(i).on(device, stream, buffers));
        if (values.get(i) instanceof Tensor tensor && i < kernel.parameters().size()) {
          named.accept(
              new NamedBuffer(
                  kernel.parameters().get(i).name(),
                  buffers.get(before),
                  OpDebuggee.element(tensor.initial().type().dtype())));
        }
      }
      var launch = program.launch(device.load(module, kernel.name()), given);
      launch.check(device.capability());
      if (launches) {
        stream.launch(launch);
        KernelArgument.write(values, buffers, stream);
      }
    }
  }
}
