package dev.athanor.service.config;

import dev.athanor.service.forward.Forwarding;
import dev.athanor.service.forward.ReplicaHeader;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.security.SecuritySettings.Mode;
import dev.athanor.service.tensor.Handles;
import java.security.NoSuchAlgorithmException;
import javax.net.ssl.SSLContext;
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
  Forwarding forwarding(
      AthanorProperties properties, Handles handles, Metrics metrics, SslBundles bundles)
      throws NoSuchAlgorithmException {
    String bundle = properties.forward().sslBundle();
    return new Forwarding(
        properties.forward(),
        bundle.isEmpty() ? SSLContext.getDefault() : bundles.getBundle(bundle).createSslContext(),
        handles,
        properties.rest(),
        metrics,
        properties.security().mode() == Mode.MTLS);
  }
}
