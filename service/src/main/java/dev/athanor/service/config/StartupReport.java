package dev.athanor.service.config;

import dev.athanor.engine.Devices;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.security.Listeners;
import dev.athanor.service.security.SecuritySettings;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/**
 * The report that the command line prints after startup: devices and addresses.
 *
 * @param grpc null if gRPC is disabled
 */
public record StartupReport(
    List<Devices.Opened> devices,
    DeviceHealth health,
    SecuritySettings security,
    Environment environment,
    @Nullable GrpcServerLifecycle grpc) {

  /** Returns the lines of the report; the service must be listening already. */
  public List<String> lines() {
    var lines = new ArrayList<String>();
    for (var device : devices) {
      var capability = device.device().capability();
      add(
          lines,
          "Device",
          "%s: %s, %s, %d MiB"
              .formatted(
                  capability.id(),
                  capability.name(),
                  capability.target(),
                  capability.memoryBytes() >> 20));
      add(lines, "", device.reason());
    }
    var listeners = Listeners.of(environment);
    var rest = rest();
    var management =
        listeners.managementIsApart()
            ? url("management.server", "management.server.address", "local.management.port")
            : rest;
    add(lines, "REST", rest);
    if (grpc != null) {
      add(lines, "gRPC", grpcAddress(grpc));
    }
    add(lines, "Console", rest + "/console/");
    add(lines, "Metrics", management + "/actuator/prometheus");
    add(lines, "API", rest + "/openapi.yaml");
    add(
        lines,
        "Callers",
        switch (security.mode()) {
          case NONE -> "not authenticated";
          case API_KEY -> "need an API key";
          case JWT -> "need a token";
          case MTLS -> "need a client certificate";
        });
    return lines;
  }

  /** Returns the URL of the REST API. */
  public String rest() {
    return url("server", "server.address", "local.server.port");
  }

  /** Returns the address of the gRPC API as host:port; null if gRPC is disabled. */
  public @Nullable String grpcAddress() {
    return grpc == null ? null : grpcAddress(grpc);
  }

  private String grpcAddress(GrpcServerLifecycle running) {
    return host("spring.grpc.server.address") + ":" + running.getPort();
  }

  /** Whether the devices passed the self-test; the log contains the reason if not. */
  public boolean isReady() {
    return health.isReady();
  }

  private static void add(List<String> lines, String title, String value) {
    lines.add("  %-8s %s".formatted(title, value).stripTrailing());
  }

  private String url(String prefix, String address, String port) {
    boolean secured =
        environment.containsProperty(prefix + ".ssl.bundle")
            || environment.containsProperty(prefix + ".ssl.key-store")
            || environment.containsProperty(prefix + ".ssl.certificate");
    return "%s://%s:%s"
        .formatted(
            secured ? "https" : "http", host(address), environment.getProperty(port, "unknown"));
  }

  /** Returns the host for a URL; {@code localhost} if the service listens on all addresses. */
  private String host(String property) {
    var address =
        environment.getProperty(property, environment.getProperty("server.address", "0.0.0.0"));
    try {
      if (InetAddress.getByName(address).isAnyLocalAddress()) {
        return "localhost";
      }
    } catch (UnknownHostException e) {
      return address; // cannot happen: the service already listens on it
    }
    return address.contains(":") ? "[" + address + "]" : address;
  }
}
