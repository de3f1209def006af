package dev.athanor.client.spring;

import dev.athanor.client.Athanor;
import dev.athanor.client.CallListener;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Configures a client if {@code athanor.client.url} is set. */
@AutoConfiguration(
    afterName =
        "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnProperty("athanor.client.url")
@EnableConfigurationProperties(AthanorClientProperties.class)
public class AthanorClientAutoConfiguration {

  @Bean
  @ConditionalOnMissingBean
  Athanor athanor(
      AthanorClientProperties properties,
      ObjectProvider<CallListener> listener,
      ObjectProvider<AthanorBuilderCustomizer> customizers) {
    var builder =
        Athanor.builder(properties.url())
            .deadline(properties.deadline())
            .maxRetries(properties.maxRetries())
            .lease(properties.lease());
    if (properties.apiKey() != null) {
      builder.apiKey(properties.apiKey());
    }
    properties.replicas().forEach(builder::replica);
    listener.ifAvailable(builder::listener);
    customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
    return builder.build();
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(MeterRegistry.class)
  @ConditionalOnBean(MeterRegistry.class)
  static class Metrics {

    @Bean
    @ConditionalOnMissingBean
    CallListener athanorClientMetrics(MeterRegistry registry) {
      return (op, outcome, duration) ->
          Timer.builder("athanor.client.requests")
              .description("Calls of the Athanor service, retries included")
              .tag("op", op)
              .tag("outcome", outcome)
              .register(registry)
              .record(duration);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(HealthIndicator.class)
  static class HealthConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "athanorHealthIndicator")
    @ConditionalOnEnabledHealthIndicator("athanor")
    HealthIndicator athanorHealthIndicator(Athanor athanor, AthanorClientProperties properties) {
      return new AthanorHealthIndicator(athanor, properties.url());
    }
  }
}
