package dev.athanor.service.config;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.plugin.Plugins;
import dev.athanor.service.model.ModelFolder;
import dev.athanor.service.replica.WeightLoader;
import dev.athanor.service.security.SecurityMisconfigured;
import java.util.Optional;
import org.springframework.boot.SpringBootExceptionReporter;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.yaml.snakeyaml.error.YAMLException;

/**
 * A startup failure that one sentence explains.
 *
 * @param sentence what is wrong and what to do
 * @param misuse whether options or settings are invalid, as opposed to the state of the machine
 */
public record StartupFailure(String sentence, boolean misuse) {

  /** Returns the explanation of a failed start; empty if only the stack trace explains it. */
  public static Optional<StartupFailure> of(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      var sentence = String.valueOf(cause.getMessage());
      switch (cause) {
        case DeviceException.Unavailable _,
            SecurityMisconfigured _,
            UnknownSettings.Found _,
            Plugins.Unusable _,
            ModelFolder.Unusable _,
            WeightLoader.Unusable _ -> {
          return Optional.of(new StartupFailure(sentence, true));
        }
        case YAMLException _ -> {
          return Optional.of(
              new StartupFailure(
                  "the configuration is not valid YAML: "
                      + sentence.strip().replaceAll("\\s+", " "),
                  true));
        }
        case PortCheck.PortUnavailable refused -> {
          return Optional.of(new StartupFailure(sentence, refused.misuse()));
        }
        // the port was taken after the check
        case PortInUseException taken -> {
          return Optional.of(new StartupFailure(PortCheck.inUse(taken.getPort()), false));
        }
        default -> {}
      }
    }
    return Optional.empty();
  }

  /** Prevents Spring Boot from logging a failure that the command line explains. */
  @Order(Ordered.HIGHEST_PRECEDENCE)
  static final class Reporter implements SpringBootExceptionReporter {
    @Override
    public boolean reportException(Throwable failure) {
      return of(failure).isPresent();
    }
  }
}
