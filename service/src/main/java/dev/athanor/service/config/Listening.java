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

/** Checks that the service can listen where it is told to, before anything else is started. */
public final class Listening
    implements ApplicationListener<ApplicationEnvironmentPreparedEvent>, Ordered {

  /** The properties of a listener's port and address, the option for its port, and the default. */
  private record Listener(String port, String address, String option, int standard) {}

  private static final Listener REST =
      new Listener("server.port", "server.address", "--port", 8080);
  private static final Listener GRPC =
      new Listener("spring.grpc.server.port", "spring.grpc.server.address", "--grpc-port", 9090);
  private static final Listener MANAGEMENT =
      new Listener(
          "management.server.port", "management.server.address", "management.server.port", 0);

  /** The addresses in the service's application.yaml. */
  private static final Map<String, Object> DEFAULTS =
      Map.of("server.address", "127.0.0.1", "spring.grpc.server.address", "${server.address}");

  /** What the names of settings begin with that tell Spring Boot of further settings. */
  private static final List<String> ELSEWHERE =
      List.of("spring.config.", "spring.profiles.", "spring.application.json");

  /** Once configuration is read, before logging and all that takes longer is set up. */
  @Override
  public int getOrder() {
    return EnvironmentPostProcessorApplicationListener.DEFAULT_ORDER + 1;
  }

  @Override
  public void onApplicationEvent(ApplicationEnvironmentPreparedEvent event) {
    check(event.getEnvironment());
  }

  /**
   * Checks the ports before Spring Boot, which takes seconds to read its configuration, where only
   * options and the environment can choose them; where files can, the ports are checked later.
   *
   * @param options settings from the command line, which override all others
   * @param folder the folder that the service is started in
   * @throws RuntimeException when a port is in use or an address is none of this machine, as one
   *     sentence that {@link StartupFailure} knows
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

  /** Whether Spring Boot may find settings besides those in the sources and the service's own. */
  private static boolean mayHaveFiles(MutablePropertySources sources, Path folder) {
    boolean named =
        sources.stream()
            .map(EnumerablePropertySource.class::cast)
            .flatMap(source -> Arrays.stream(source.getPropertyNames()))
            .map(name -> name.toLowerCase(Locale.ROOT).replace('_', '.'))
            .anyMatch(name -> ELSEWHERE.stream().anyMatch(name::startsWith));
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

  /** The service cannot listen there. The message is one sentence that says why. */
  static final class NotPossible extends RuntimeException {
    private final boolean misuse;

    NotPossible(String message, boolean misuse) {
      super(message);
      this.misuse = misuse;
    }

    /** Whether no program could listen there. */
    boolean misuse() {
      return misuse;
    }
  }

  /**
   * Checks that all ports are free.
   *
   * @throws NotPossible when one is not, or the address is none of this machine
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
          throw new NotPossible(
              "%s and %s are both %d; each needs a port of its own"
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
      throw new NotPossible("--bind %s: there is no host of that name".formatted(address), true);
    } catch (IOException e) {
      var reason = String.valueOf(e.getMessage());
      if (reason.contains("in use")) {
        throw new NotPossible(inUse(port, listener.option), false);
      }
      boolean foreign = reason.contains("Cannot assign");
      throw new NotPossible(
          foreign
              ? "--bind %s: this machine does not have that address".formatted(address)
              : "%s %d: %s".formatted(listener.option, port, reason),
          foreign);
    }
  }

  static String inUse(int port) {
    return inUse(port, "--port or --grpc-port");
  }

  private static String inUse(int port, String option) {
    return "port %d is in use; stop the program that listens on it or choose another port with %s"
        .formatted(port, option);
  }
}
