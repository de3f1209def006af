package dev.athanor.service.security;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * The addresses on which the service listens.
 *
 * @param addresses addresses by property name; an empty address means all interfaces
 * @param managementIsApart whether management has a separate port
 */
public record Listeners(Map<String, String> addresses, boolean managementIsApart) {

  private static final Logger LOG = LoggerFactory.getLogger(Listeners.class);

  private static final String REST = "server.address";
  private static final String MANAGEMENT = "management.server.address";
  private static final String GRPC = "spring.grpc.server.address";

  /** Reads the addresses from the settings. */
  public static Listeners of(Environment environment) {
    var addresses = new LinkedHashMap<String, String>();
    var rest = environment.getProperty(REST, "");
    addresses.put(REST, rest);
    var port = environment.getProperty("management.server.port");
    boolean apart =
        port != null
            && !port.startsWith("-")
            && (port.equals("0") || !port.equals(environment.getProperty("server.port", "8080")));
    if (apart) {
      addresses.put(MANAGEMENT, environment.getProperty(MANAGEMENT, rest));
    }
    if (ClassUtils.isPresent("io.grpc.ServerBuilder", Listeners.class.getClassLoader())
        && !environment.getProperty("spring.grpc.server.enabled", "true").equals("false")) {
      addresses.put(GRPC, environment.getProperty(GRPC, ""));
    }
    return new Listeners(addresses, apart);
  }

  /** Whether REST and management listen on loopback addresses only. */
  public boolean isLoopback() {
    return addresses.entrySet().stream()
        .allMatch(entry -> entry.getKey().equals(GRPC) || isLoopback(entry.getValue()));
  }

  /**
   * Checks that a service without authentication listens only on loopback addresses.
   *
   * @param allowed whether other addresses are allowed; then a warning is logged instead
   * @throws SecurityMisconfigured if it listens on other addresses
   */
  public void checkLoopback(boolean allowed) {
    var open =
        addresses.entrySet().stream()
            .filter(entry -> !isLoopback(entry.getValue()))
            .map(entry ->
                entry.getValue().isEmpty()
                    ? entry.getKey() + " is not set, which means all addresses"
                    : entry.getKey() + " is " + entry.getValue())
            .collect(Collectors.joining(", "));
    if (open.isEmpty()) {
      return;
    }
    if (!allowed) {
      throw new SecurityMisconfigured(
          ("%s, and athanor.security.mode is none, so anyone could call; set the mode to api-key, jwt or"
                  + " mtls, bind to a loopback address, or set athanor.security.allow-unauthenticated")
              .formatted(open));
    }
    LOG.warn(
        "OPEN TO ANYONE: {}, athanor.security.mode is none and athanor.security.allow-unauthenticated is set;"
            + " anyone who can reach this service can run ops and read, write and delete all tensors",
        open);
  }

  private static boolean isLoopback(String address) {
    if (address.isEmpty()) {
      return false;
    }
    try {
      return InetAddress.getByName(address).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
