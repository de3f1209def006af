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
 * Has gRPC listen as REST does: with the same certificate, where the settings of gRPC say nothing
 * of one, so that no key travels in the open because one of two settings was forgotten, and with
 * those that replace it; and on the very address that is set, which Spring would look a name up for
 * and could not take as IPv6.
 */
final class Listening implements BeanPostProcessor {

  private final Environment environment;
  private final UnaryOperator<String> following;

  /**
   * @param following makes a bundle that is always as another is now; both are told by their names
   */
  Listening(Environment environment, UnaryOperator<String> following) {
    this.environment = environment;
    this.following = following;
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
        ssl.setBundle(following.apply(ssl.getBundle()));
      }
    }
    return bean;
  }

  /**
   * The same address, with itself as its name, as a URI has it: IPv6 in brackets, of which the
   * method takes one pair off.
   */
  private static InetAddress named(InetAddress address) {
    var text = address.getHostAddress();
    try {
      return InetAddress.getByAddress(
          address instanceof Inet6Address ? "[[" + text + "]]" : text, address.getAddress());
    } catch (UnknownHostException e) {
      throw new IllegalStateException("an address has the length of an address", e);
    }
  }
}
