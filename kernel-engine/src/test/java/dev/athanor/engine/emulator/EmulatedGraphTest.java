package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.GraphCompatibilityKit;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

class EmulatedGraphTest extends GraphCompatibilityKit {

  private static final String INCREMENT =
      """
      .version 7.4
      .target sm_80
      .address_size 64
      .visible .entry increment(.param .u64 at)
      {
        .reg .b32 %r<2>;
        .reg .b64 %rd<1>;
        ld.param.u64 %rd0, [at];
        ld.global.u32 %r0, [%rd0];
        add.u32 %r1, %r0, 1;
        st.global.u32 [%rd0], %r1;
        ret;
      }
      """;

  @Override
  protected Device open() {
    return new EmulatedDevice();
  }

  @Test
  void sanitizesEveryLaunch() {
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL));
        var stream = device.openStream();
        var first = device.allocate(4);
        var second = device.allocate(4)) {
      var kernel = device.load(Parser.parse(INCREMENT, "increment.ptx"), "increment");
      try (var graph =
          device.capture(captured -> {
            captured.copy(first, 0, second, 0, 4);
            captured.launch(
                new Launch(kernel, Dim3.of(1), Dim3.of(1), 0, List.of(Argument.of(second))));
          })) {
        assertThatExceptionOfType(DeviceException.KernelFault.class)
            .isThrownBy(() -> graph.launch(stream))
            .withMessageStartingWith("kernel increment failed: ");
        stream.upload(MemorySegment.ofArray(new int[] {41}), first, 0);
        graph.launch(stream);
        var result = new int[1];
        stream.download(second, 0, MemorySegment.ofArray(result));
        assertThat(result).containsExactly(42);
      }
    }
  }
}
