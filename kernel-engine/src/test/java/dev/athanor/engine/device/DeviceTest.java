package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.athanor.engine.ptx.Target;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

/** Default implementations of optional device operations. */
class DeviceTest {

  private static final Device PLAIN =
      (Device)
          Proxy.newProxyInstance(
              Device.class.getClassLoader(),
              new Class<?>[] {Device.class},
              (device, method, arguments) ->
                  method.isDefault()
                      ? InvocationHandler.invokeDefault(device, method, arguments)
                      : new Capability(
                          "plain:0", "A plain device", Target.SM_80, "1", 1, 1024, 1, 1, 1));

  @Test
  void defaultHostMemoryIsPageable() {
    var memory = PLAIN.allocateHost(10);
    assertThat(memory.segment().byteSize()).isEqualTo(10);
    memory.close();
    memory.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> memory.segment().get(ValueLayout.JAVA_BYTE, 0));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PLAIN.allocateHost(-5))
        .withMessage("host memory must have at least 1 byte, got -5");
  }

  @Test
  void defaultCaptureIsUnsupported() {
    assertThatExceptionOfType(UnsupportedOperationException.class)
        .isThrownBy(() -> PLAIN.capture(_ -> {}))
        .withMessage("A plain device does not support graphs; GPUs and the emulator do");
  }
}
