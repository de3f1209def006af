package dev.athanor.service.config;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.security.SecurityMisconfigured;
import java.util.Optional;
import org.springframework.boot.SpringBootExceptionReporter;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.yaml.snakeyaml.error.YAMLException;

/**
 * A failure to start that one sentence explains.
 *
 * @param sentence what is wrong and what to do
 * @param misuse whether the options or settings are wrong, and not the state of the machine
 */
public record StartupFailure(String sentence, boolean misuse) {

  /** Returns the explanation of a failed start; empty where only its stack trace explains it. */
  public static Optional<StartupFailure> of(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      var sentence = String.valueOf(cause.getMessage());
      switch (cause) {
        case DeviceException.Unavailable _, SecurityMisconfigured _, UnknownSettings.Found _ -> {
          return Optional.of(new StartupFailure(sentence, true));
        }
        case YAMLException _ -> {
          return Optional.of(
              new StartupFailure(
                  "the configuration is not valid YAML: "
                      + sentence.strip().replaceAll("\\s+", " "),
                  true));
        }
        case Listening.NotPossible refused -> {
          return Optional.of(new StartupFailure(sentence, refused.misuse()));
        }
        // taken after it was found to be free
        case PortInUseException taken -> {
          return Optional.of(new StartupFailure(Listening.inUse(taken.getPort()), false));
        }
        default -> {}
      }
    }
    return Optional.empty();
  }

  /** Keeps Spring Boot from logging a page about a failure that the command line explains. */
  @Order(Ordered.HIGHEST_PRECEDENCE)
  static final class Reporter implements SpringBootExceptionReporter {
    @Override
    public boolean reportException(Throwable failure) {
      return of(failure).isPresent();
    }
  }
}
