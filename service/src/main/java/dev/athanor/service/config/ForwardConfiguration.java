package dev.athanor.service.config;

import dev.athanor.service.forward.Forwarding;
import dev.athanor.service.forward.ReplicaHeader;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.replica.DiscoveredReplicas;
import dev.athanor.service.replica.ListedReplicas;
import dev.athanor.service.replica.Membership;
import dev.athanor.service.replica.Peers;
import dev.athanor.service.replica.ReplicaClient;
import dev.athanor.service.replica.ReplicaHosts;
import dev.athanor.service.security.SecuritySettings.Mode;
import dev.athanor.service.tensor.Handles;
import java.net.InetAddress;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import javax.net.ssl.SSLContext;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnExpression;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** One replica among several. */
@Configuration(proxyBeanMethods = false)
class ForwardConfiguration {

  @Bean
  @ConditionalOnExpression("!'${athanor.replica:}'.isEmpty()")
  ReplicaHeader replicaHeader(Handles handles) {
    return new ReplicaHeader(handles.replica());
  }

  @Bean
  @ConditionalOnExpression("!'${athanor.forward.url:}'.isEmpty()")
  ReplicaClient replicaClient(
      AthanorProperties properties, Handles handles, Metrics metrics, SslBundles bundles)
      throws NoSuchAlgorithmException {
    String bundle = properties.forward().sslBundle();
    return new ReplicaClient(
        properties.forward(),
        properties.quota(),
        bundle.isEmpty() ? SSLContext.getDefault() : bundles.getBundle(bundle).createSslContext(),
        handles.replica(),
        metrics);
  }

  @Bean
  Peers peers(AthanorProperties properties, Handles handles, ObjectProvider<ReplicaClient> client) {
    return new Peers(client.getIfAvailable(), handles, membership(properties, handles));
  }

  private static Membership membership(AthanorProperties properties, Handles handles) {
    var forward = properties.forward();
    var hosts = new ReplicaHosts(handles, InetAddress::getAllByName);
    if (hasCertificates(properties)) {
      return new ListedReplicas(List.of(), hosts);
    }
    return forward.discovery().isEmpty()
        ? new ListedReplicas(forward.ids(), hosts)
        : new DiscoveredReplicas(forward.discovery(), hosts);
  }

  /** Whether clients authenticate by certificates, which cannot be passed on. */
  private static boolean hasCertificates(AthanorProperties properties) {
    return properties.security().mode() == Mode.MTLS;
  }

  @Bean
  @ConditionalOnExpression("!'${athanor.forward.url:}'.isEmpty()")
  Forwarding forwarding(
      AthanorProperties properties, ReplicaClient client, Peers peers, Handles handles) {
    return new Forwarding(
        properties.forward(),
        client,
        peers,
        handles,
        properties.rest(),
        hasCertificates(properties));
  }
}
