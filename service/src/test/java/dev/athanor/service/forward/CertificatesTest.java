package dev.athanor.service.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.MetricsSettings;
import dev.athanor.service.replica.ForwardSettings;
import dev.athanor.service.replica.ListedReplicas;
import dev.athanor.service.replica.Peers;
import dev.athanor.service.replica.ReplicaClient;
import dev.athanor.service.replica.ReplicaHosts;
import dev.athanor.service.schedule.TenantShares;
import dev.athanor.service.tensor.Handles;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.OpenTelemetry;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.springframework.mock.web.MockFilterChain;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.util.unit.DataSize;

/**
 * Tests that requests with client certificates are not forwarded, since the certificate cannot be.
 */
class CertificatesTest {

  private static final String HANDLE = "t_0123456789abcdef0123456789abcdef_2";

  @Test
  void callersWithCertificatesLearnTheOwner() throws Exception {
    var url = "http://athanor-{replica}.invalid:8080";
    var wait = Duration.ofSeconds(1);
    var metrics =
        new Metrics(
            new SimpleMeterRegistry(),
            OpenTelemetry.noop().getTracer("test"),
            "emulator:0",
            new MetricsSettings(false));
    var settings =
        new ForwardSettings(url, "", "", "", wait, wait, wait, DataSize.ofKilobytes(1), 1);
    var handles = new Handles("athanor-1", url);
    try (var client =
        new ReplicaClient(
            settings, TenantShares.UNLIMITED, SSLContext.getDefault(), "1", metrics)) {
      var hosts = new ReplicaHosts(handles, InetAddress::getAllByName);
      var peers = new Peers(client, handles, new ListedReplicas(List.of(), hosts));
      var forwarding =
          new Forwarding(settings, client, peers, handles, new RestSettings(1024), true);
      var request = new MockHttpServletRequest("GET", "/tensors/" + HANDLE);
      var response = new MockHttpServletResponse();
      var chain = new MockFilterChain();

      forwarding.doFilter(request, response, chain);

      assertThat(chain.getRequest()).as("served here, with 421").isSameAs(request);
      var failure = Failure.WrongReplica.of("handle", HANDLE, "2", "http://athanor-2.invalid:8080");
      assertThatThrownBy(() -> forwarding.answer(failure, request, response)).isSameAs(failure);
    }
  }
}
