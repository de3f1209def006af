package dev.athanor.service;

import dev.athanor.service.config.PortCheck;
import dev.athanor.service.config.StartupFailure;
import dev.athanor.service.config.StartupReport;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.function.Consumer;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.grpc.server.autoconfigure.security.GrpcServerOAuth2ResourceServerAutoConfiguration;
import org.springframework.boot.grpc.server.autoconfigure.security.GrpcServerSecurityAutoConfiguration;
import org.springframework.boot.security.autoconfigure.UserDetailsServiceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * The Spring Boot application. The service identifies callers itself, so Spring's gRPC security and
 * its users are excluded.
 */
@SpringBootApplication(
    proxyBeanMethods = false,
    exclude = {
      GrpcServerOAuth2ResourceServerAutoConfiguration.class,
      GrpcServerSecurityAutoConfiguration.class,
      UserDetailsServiceAutoConfiguration.class
    })
public class AthanorApplication {

  /**
   * Starts the service without the command line, and logs where it listens. Exits with status 1 if
   * it cannot start.
   *
   * @param arguments settings: {@code --server.port=8081}
   */
  public static void main(String[] arguments) {
    // format numbers independently of the machine's locale
    Locale.setDefault(Locale.Category.FORMAT, Locale.ROOT);
    var log = LoggerFactory.getLogger(AthanorApplication.class);
    try {
      start(arguments).lines().forEach(log::info);
    } catch (RuntimeException e) {
      // Spring Boot has logged all other failures.
      StartupFailure.of(e).ifPresent(failure -> log.error(failure.sentence()));
      System.exit(1);
    }
  }

  /**
   * Starts the service, which then runs until the JVM ends.
   *
   * @param arguments settings: {@code --server.port=8081}
   * @return where it listens and on which devices it runs
   * @throws RuntimeException if it cannot start; {@link StartupFailure#of} may explain why
   */
  public static StartupReport start(String... arguments) {
    return run(arguments).getBean(StartupReport.class);
  }

  /**
   * Starts the service and stops it again.
   *
   * @param reader reads, while the service runs, where it listens and whether it is ready
   * @param arguments settings: {@code --server.port=8081}
   * @throws RuntimeException if it cannot start; {@link StartupFailure#of} may explain why
   */
  public static void check(Consumer<StartupReport> reader, String... arguments) {
    try (var service = run(arguments)) {
      reader.accept(service.getBean(StartupReport.class));
    }
  }

  private static ConfigurableApplicationContext run(String... arguments) {
    var options = new SimpleCommandLinePropertySource(arguments);
    var settings = new HashMap<String, Object>();
    for (var name : options.getPropertyNames()) {
      settings.put(name, String.valueOf(options.getProperty(name)));
    }
    PortCheck.checkEarly(settings, Path.of(""));
    var application = new SpringApplication(AthanorApplication.class);
    application.addListeners(new PortCheck());
    return application.run(arguments);
  }
}
