package dev.athanor.engine.conformance;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** Devices that behave differently from another one. */
final class DeviceProxy {

  private DeviceProxy() {}

  /** Handles the calls of a device. */
  interface Handler {
    Object handle(Method called, Object[] arguments) throws ReflectiveOperationException;
  }

  static Device of(Handler handler) {
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(),
            new Class<?>[] {Device.class},
            (_, called, arguments) -> handler.handle(called, arguments));
  }

  /** Returns a device that rounds sums toward zero instead of to nearest. */
  static Device truncating(Device device) {
    return of((called, arguments) -> {
      if (called.getName().equals("load")) {
        var text =
            arguments[0].toString().replaceAll("add\\.rn((\\.ftz|\\.sat)*\\.f(32|64))", "add.rz$1");
        return device.load(Parser.parse(text, "rz.ptx"), (String) arguments[1]);
      }
      return called.invoke(device, arguments);
    });
  }
}
