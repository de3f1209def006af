package dev.athanor.junit;

import dev.athanor.engine.device.Device;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Provides the device of an invocation, and skips the invocation if the device does not exist. */
record DeviceExtension(Configuration configuration)
    implements ExecutionCondition, ParameterResolver {

  private static final Namespace NAMESPACE = Namespace.create(DeviceExtension.class);

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    return configuration
        .absence()
        .map(reason -> {
          warnOnce(context, reason);
          return ConditionEvaluationResult.disabled("no GPU: " + reason);
        })
        .orElseGet(() -> ConditionEvaluationResult.enabled("the device is available"));
  }

  private static void warnOnce(ExtensionContext context, String reason) {
    var warned =
        context
            .getRoot()
            .getStore(NAMESPACE)
            .computeIfAbsent(AtomicBoolean.class, _ -> new AtomicBoolean(), AtomicBoolean.class);
    if (warned.compareAndSet(false, true)) {
      System.getLogger(GpuTest.class.getName())
          .log(System.Logger.Level.WARNING, "SKIPPED: no test runs on a GPU: {0}", reason);
    }
  }

  /**
   * Passes the context of the invocation to constructors, too, so that the device is closed with
   * it.
   */
  @Override
  public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext root) {
    return ExtensionContextScope.TEST_METHOD;
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    var type = parameter.getParameter().getType();
    return type == Device.class || type == Launcher.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    var device =
        context
            .getStore(NAMESPACE)
            .computeIfAbsent(Device.class, _ -> configuration.open(), Device.class);
    return parameter.getParameter().getType() == Device.class
        ? device
        : new Launcher(device, KernelFiles.of(context));
  }
}
