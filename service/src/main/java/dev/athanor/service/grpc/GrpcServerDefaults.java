package dev.athanor.service.grpc;

import io.grpc.TlsServerCredentials.ClientAuth;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.function.UnaryOperator;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.core.env.Environment;

/**
 * Aligns the gRPC server with REST. Unless gRPC has its own TLS settings, it uses the certificate
 * of REST, including reloads, so that a forgotten setting does not leave gRPC unencrypted. It also
 * binds to the exact configured address, for which Spring would do a reverse lookup that fails for
 * IPv6.
 */
final class GrpcServerDefaults implements BeanPostProcessor {

  private final Environment environment;
  private final UnaryOperator<String> registerReloadable;

  /**
   * @param registerReloadable registers a bundle that follows updates of the named bundle, and
   *     returns its name
   */
  GrpcServerDefaults(Environment environment, UnaryOperator<String> registerReloadable) {
    this.environment = environment;
    this.registerReloadable = registerReloadable;
  }

  @Override
  public Object postProcessAfterInitialization(Object bean, String name) {
    if (bean instanceof GrpcServerProperties properties) {
      if (properties.getAddress() != null) {
        properties.setAddress(named(properties.getAddress()));
      }
      var ssl = properties.getSsl();
      var bundle = environment.getProperty("server.ssl.bundle", "");
      if (ssl.getEnabled() == null && ssl.getBundle() == null && !bundle.isEmpty()) {
        ssl.setBundle(bundle);
        ssl.setClientAuth(
            switch (environment.getProperty("server.ssl.client-auth", "none")) {
              case "need" -> ClientAuth.REQUIRE;
              case "want" -> ClientAuth.OPTIONAL;
              default -> ClientAuth.NONE;
            });
      }
      if (ssl.getBundle() != null && !Boolean.FALSE.equals(ssl.getEnabled())) {
        ssl.setBundle(registerReloadable.apply(ssl.getBundle()));
      }
    }
    return bean;
  }

  /**
   * Returns the address with its literal as host name, as in a URI. IPv6 needs two pairs of
   * brackets, since {@code getByAddress} removes one.
   */
  private static InetAddress named(InetAddress address) {
    var text = address.getHostAddress();
    try {
      return InetAddress.getByAddress(
          address instanceof Inet6Address ? "[[" + text + "]]" : text, address.getAddress());
    } catch (UnknownHostException e) {
      throw new IllegalStateException("invalid address length", e);
    }
  }
}
