package dev.athanor.service.config;

import dev.athanor.engine.device.DeviceException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says in a sentence, without a stack trace, why the device that was asked for is not there. */
class DeviceFailureAnalyzer extends AbstractFailureAnalyzer<DeviceException.Unavailable> {

  @Override
  protected FailureAnalysis analyze(Throwable failure, DeviceException.Unavailable cause) {
    return new FailureAnalysis(
        String.valueOf(cause.getMessage()),
        "Choose another with --device: auto takes the emulator where there is no GPU.",
        cause);
  }
}
