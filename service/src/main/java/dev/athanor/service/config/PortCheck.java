package dev.athanor.service.config;

import dev.athanor.service.security.Listeners;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.springframework.boot.context.event.ApplicationEnvironmentPreparedEvent;
import org.springframework.boot.support.EnvironmentPostProcessorApplicationListener;
import org.springframework.context.ApplicationListener;
import org.springframework.core.Ordered;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.Environment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.StandardEnvironment;

/**
 * Checks at startup that the configured addresses and ports are available, before anything else
 * starts.
 */
public final class PortCheck
    implements ApplicationListener<ApplicationEnvironmentPreparedEvent>, Ordered {

  /**
   * The properties of a listener's port and address, the command-line option, and the default port.
   */
  private record Listener(String port, String address, String option, int standard) {}

  private static final Listener REST =
      new Listener("server.port", "server.address", "--port", 8080);
  private static final Listener GRPC =
      new Listener("spring.grpc.server.port", "spring.grpc.server.address", "--grpc-port", 9090);
  private static final Listener MANAGEMENT =
      new Listener(
          "management.server.port", "management.server.address", "management.server.port", 0);

  /** The default addresses of the service's application.yaml. */
  private static final Map<String, Object> DEFAULTS =
      Map.of("server.address", "127.0.0.1", "spring.grpc.server.address", "${server.address}");

  /** Prefixes of settings that refer Spring Boot to further settings. */
  private static final List<String> CONFIG_SOURCES =
      List.of("spring.config.", "spring.profiles.", "spring.application.json");

  /** Runs after the configuration is read, before logging and other slow initialization. */
  @Override
  public int getOrder() {
    return EnvironmentPostProcessorApplicationListener.DEFAULT_ORDER + 1;
  }

  @Override
  public void onApplicationEvent(ApplicationEnvironmentPreparedEvent event) {
    check(event.getEnvironment());
  }

  /**
   * Checks the ports before Spring Boot starts, which takes seconds. If configuration files may set
   * the ports, they are checked later instead.
   *
   * @param options settings from the command line, which override all others
   * @param folder the working directory
   * @throws RuntimeException if a port is in use or an address is not local; {@link StartupFailure}
   *     explains it
   */
  public static void checkEarly(Map<String, Object> options, Path folder) {
    var environment = new StandardEnvironment();
    var sources = environment.getPropertySources();
    sources.addFirst(new MapPropertySource("options", options));
    if (!mayHaveFiles(sources, folder)) {
      sources.addLast(new MapPropertySource("defaults", DEFAULTS));
      check(environment);
    }
  }

  /** Whether Spring Boot may find settings outside the given sources and the service's own file. */
  private static boolean mayHaveFiles(MutablePropertySources sources, Path folder) {
    boolean named =
        sources.stream()
            .map(EnumerablePropertySource.class::cast)
            .flatMap(source -> Arrays.stream(source.getPropertyNames()))
            .map(name -> name.toLowerCase(Locale.ROOT).replace('_', '.'))
            .anyMatch(name -> CONFIG_SOURCES.stream().anyMatch(name::startsWith));
    if (named) {
      return true;
    }
    try (var files = Files.list(folder)) {
      return files
          .map(file -> file.getFileName().toString())
          .anyMatch(name -> name.equals("config") || name.startsWith("application"));
    } catch (IOException e) {
      return true;
    }
  }

  /** An address or port is unavailable. The message is one sentence that explains why. */
  static final class PortUnavailable extends RuntimeException {
    private final boolean misuse;

    PortUnavailable(String message, boolean misuse) {
      super(message);
      this.misuse = misuse;
    }

    /** Whether the setting itself is invalid, not just the port in use. */
    boolean misuse() {
      return misuse;
    }
  }

  /**
   * Checks that all ports are free.
   *
   * @throws PortUnavailable if a port is in use or an address is not local
   */
  private static void check(Environment environment) {
    var listeners = Listeners.of(environment);
    var taken = new HashMap<Integer, Listener>();
    for (var listener : new Listener[] {REST, GRPC, MANAGEMENT}) {
      var address = listeners.addresses().get(listener.address);
      int port = environment.getProperty(listener.port, Integer.class, listener.standard);
      if (address != null && port > 0) {
        var other = taken.put(port, listener);
        if (other != null) {
          throw new PortUnavailable(
              "%s and %s are both %d; use different ports"
                  .formatted(other.option, listener.option, port),
              true);
        }
        check(listener, address, port);
      }
    }
  }

  private static void check(Listener listener, String address, int port) {
    try (var socket = new ServerSocket()) {
      socket.bind(
          address.isEmpty()
              ? new InetSocketAddress(port)
              : new InetSocketAddress(InetAddress.getByName(address), port));
    } catch (UnknownHostException e) {
      throw new PortUnavailable("--bind %s: unknown host".formatted(address), true);
    } catch (IOException e) {
      var reason = String.valueOf(e.getMessage());
      if (reason.contains("in use")) {
        throw new PortUnavailable(inUse(port, listener.option), false);
      }
      boolean foreign = reason.contains("Cannot assign");
      throw new PortUnavailable(
          foreign
              ? "--bind %s: not an address of this machine".formatted(address)
              : "%s %d: %s".formatted(listener.option, port, reason),
          foreign);
    }
  }

  static String inUse(int port) {
    return inUse(port, "--port or --grpc-port");
  }

  private static String inUse(int port, String option) {
    return "port %d is in use; stop the program that uses it or choose another port with %s"
        .formatted(port, option);
  }
}
