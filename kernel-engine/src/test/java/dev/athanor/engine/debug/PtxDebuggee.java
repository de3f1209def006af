package dev.athanor.engine.debug;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/** The only kernel of a PTX text, with one buffer of words as its argument. */
record PtxDebuggee(Module module, EmulatorOptions options, int grid, int block, List<Integer> words)
    implements Debuggee {

  static PtxDebuggee of(String text, EmulatorOptions options, int grid, int block, int... words) {
    return new PtxDebuggee(
        Parser.parse(text, "test.ptx"),
        options,
        grid,
        block,
        Arrays.stream(words).boxed().toList());
  }

  @Override
  public List<Instruction> instructions() {
    return module.kernels().getFirst().instructions().toList();
  }

  @Override
  public void run(EmulatorOptions with, Consumer<NamedBuffer> buffers) {
    try (var device = new EmulatedDevice(with);
        var stream = device.openStream()) {
      var arguments = new ArrayList<Argument>();
      Buffer buffer = device.allocate(4L * words.size());
      stream.upload(
          MemorySegment.ofArray(words.stream().mapToInt(Integer::intValue).toArray()), buffer, 0);
      buffers.accept(new NamedBuffer("words", buffer, Type.U32));
      arguments.add(Argument.of(buffer));
      var kernel = device.load(module, module.kernels().getFirst().name());
      stream.launch(new Launch(kernel, Dim3.of(grid), Dim3.of(block), 0, arguments));
    }
  }
}
