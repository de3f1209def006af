package dev.athanor.junit;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.DeviceException.LoadFailed;
import dev.athanor.engine.lift.CheckFailedException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.opentest4j.AssertionFailedError;

/** Reports the findings that a test did not catch, as its failure and as SARIF. */
record FindingsExtension(Configuration configuration)
    implements TestExecutionExceptionHandler, LifecycleMethodExecutionExceptionHandler {

  @Override
  public void handleTestExecutionException(ExtensionContext context, Throwable thrown)
      throws Throwable {
    throw explained(context, thrown);
  }

  @Override
  public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable thrown)
      throws Throwable {
    throw explained(context, thrown);
  }

  @Override
  public void handleAfterEachMethodExecutionException(ExtensionContext context, Throwable thrown)
      throws Throwable {
    throw explained(context, thrown);
  }

  private Throwable explained(ExtensionContext context, Throwable thrown) {
    for (var cause = thrown; cause != null; cause = cause.getCause()) {
      switch (cause) {
        case KernelFault fault when !fault.findings().isEmpty() -> {
          return failure(context, thrown, Finding.of(fault));
        }
        case CheckFailedException check -> {
          return failure(context, thrown, List.of(Finding.of(check)));
        }
        case LoadFailed failed -> {
          return new AssertionFailedError(
              "%s%nThis invocation runs on %s; `targets` of @GpuTest lists the emulated targets."
                  .formatted(failed.getMessage(), configuration.name()),
              thrown);
        }
        default -> {}
      }
    }
    return thrown;
  }

  private AssertionFailedError failure(
      ExtensionContext context, Throwable thrown, List<Finding> findings) {
    var log = SarifLog.of(context);
    var lines = new ArrayList<String>();
    lines.add(
        "%d finding%s on %s:"
            .formatted(findings.size(), findings.size() == 1 ? "" : "s", configuration.name()));
    for (var finding : findings) {
      log.add(finding, configuration, context);
      lines.add(finding.rule() + ": " + finding.text());
    }
    return new AssertionFailedError(String.join(System.lineSeparator(), lines), thrown);
  }
}
