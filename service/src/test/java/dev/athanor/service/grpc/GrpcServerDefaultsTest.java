package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.TlsServerCredentials.ClientAuth;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.mock.env.MockEnvironment;

class GrpcServerDefaultsTest {

  private final MockEnvironment environment = new MockEnvironment();
  private final GrpcServerProperties properties = new GrpcServerProperties();

  private GrpcServerProperties grpcServerDefaults() {
    new GrpcServerDefaults(environment, name -> name + ", followed")
        .postProcessAfterInitialization(properties, "properties");
    return properties;
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "0.0.0.0", "::1", "::"})
  void keepsTheConfiguredAddress(String address) throws UnknownHostException {
    var wanted = InetAddress.getByName(address);
    properties.setAddress(wanted);
    var set = grpcServerDefaults().getAddress();
    assertThat(set).isEqualTo(wanted);
    // as Spring passes it on
    var host =
        java.net.URI.create("http://" + (set == null ? "" : set.getHostName()) + ":9").getHost();
    assertThat(new InetSocketAddress(host, 9).getAddress()).isEqualTo(wanted);
  }

  @Test
  void usesTheCertificateOfRest() {
    environment.setProperty("server.ssl.bundle", "web");
    environment.setProperty("server.ssl.client-auth", "want");
    assertThat(grpcServerDefaults().getSsl().getBundle()).isEqualTo("web, followed");
    assertThat(properties.getSsl().getClientAuth()).isEqualTo(ClientAuth.OPTIONAL);
  }

  @Test
  void grpcSettingsOverrideRest() {
    environment.setProperty("server.ssl.bundle", "web");
    properties.getSsl().setBundle("other");
    assertThat(grpcServerDefaults().getSsl().getBundle()).isEqualTo("other, followed");
    properties.getSsl().setBundle(null);
    properties.getSsl().setEnabled(false);
    assertThat(grpcServerDefaults().getSsl().getBundle()).isNull();
  }

  @Test
  void changesNothingWithoutCertificates() {
    assertThat(grpcServerDefaults().getSsl().getBundle()).isNull();
    assertThat(properties.getAddress()).isNull();
  }
}
