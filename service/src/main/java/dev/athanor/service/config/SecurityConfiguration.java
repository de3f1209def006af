package dev.athanor.service.config;

import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.security.ApiKeys;
import dev.athanor.service.security.BrowserGuard;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.CertificateCallers;
import dev.athanor.service.security.ConnectionLimit;
import dev.athanor.service.security.JwtCallers;
import dev.athanor.service.security.Listeners;
import dev.athanor.service.security.RequestLimit;
import dev.athanor.service.security.Rules;
import dev.athanor.service.security.SecurityMisconfigured;
import dev.athanor.service.security.SecuritySettings;
import java.net.InetAddress;
import java.nio.file.Path;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementServerProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.scheduling.annotation.SchedulingConfigurer;
import org.springframework.security.oauth2.jwt.JwtDecoder;

/** Beans of authentication and authorization, as configured by {@code athanor.security}. */
@Configuration(proxyBeanMethods = false)
class SecurityConfiguration {

  private static final String JWT = "spring.security.oauth2.resourceserver.jwt.";

  @Bean
  Rules rules(AthanorProperties properties, Environment environment) {
    return new Rules(
        properties.security().unauthenticatedManagement()
            && Listeners.of(environment).managementIsApart());
  }

  @Bean
  Callers callers(
      AthanorProperties properties, Environment environment, ObjectProvider<JwtDecoder> decoder) {
    var security = properties.security();
    return switch (security.mode()) {
      case NONE -> {
        Listeners.of(environment).checkLoopback(security.allowUnauthenticated());
        yield Callers.anonymous();
      }
      case API_KEY -> apiKeys(security);
      case JWT -> new JwtCallers(decoder(environment, decoder), security.jwt());
      case MTLS -> mtls(security, environment);
    };
  }

  @Bean
  ConnectionLimit connectionLimit(Environment environment) {
    return ConnectionLimit.rest(
        environment.getProperty("server.tomcat.max-connections", Integer.class));
  }

  @Bean
  RequestLimit requestLimit(ConnectionLimit limit, AthanorProperties properties) {
    return new RequestLimit(limit.connections(), properties.quota());
  }

  @Bean
  ProcessorShares processorShares(AthanorProperties properties) {
    return new ProcessorShares(properties.quota());
  }

  @Bean
  BrowserGuard browserGuard(AthanorProperties properties, Environment environment) {
    return BrowserGuard.of(properties.security(), Listeners.of(environment).isLoopback());
  }

  private static Callers apiKeys(SecuritySettings security) {
    if (security.apiKeys().file().isEmpty()) {
      throw new SecurityMisconfigured(
          "athanor.security.mode is api-key, but athanor.security.api-keys.file is not set");
    }
    return new ApiKeys(Path.of(security.apiKeys().file()));
  }

  private static JwtDecoder decoder(Environment environment, ObjectProvider<JwtDecoder> decoder) {
    if (!Binder.get(environment).bind(JWT + "audiences", String[].class).isBound()) {
      throw new SecurityMisconfigured(
          "athanor.security.mode is jwt, but %saudiences is not set".formatted(JWT));
    }
    var found = decoder.getIfAvailable();
    if (found == null) {
      throw new SecurityMisconfigured(
          "athanor.security.mode is jwt, but neither %1$sissuer-uri nor %1$sjwk-set-uri is set"
              .formatted(JWT));
    }
    return found;
  }

  private static Callers mtls(SecuritySettings security, Environment environment) {
    var asked = environment.getProperty("server.ssl.client-auth", "none");
    if (!environment.containsProperty("server.ssl.bundle") || asked.equals("none")) {
      throw new SecurityMisconfigured(
          "athanor.security.mode is mtls, which requires server.ssl.bundle, and server.ssl.client-auth want or need");
    }
    return new CertificateCallers(security.mtls());
  }

  /**
   * Binds management to the address of REST by default; Spring Boot would bind to all addresses.
   */
  @Bean
  static BeanPostProcessor managementAddress(Environment environment) {
    return new BeanPostProcessor() {
      @Override
      public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof ManagementServerProperties management
            && management.getAddress() == null) {
          Binder.get(environment)
              .bind("server.address", InetAddress.class)
              .ifBound(management::setAddress);
        }
        return bean;
      }
    };
  }

  /** Schedules the reload of changed files. */
  @Bean
  SchedulingConfigurer refresh(Callers callers, AthanorProperties properties) {
    return tasks ->
        tasks.addFixedDelayTask(callers::refresh, properties.security().apiKeys().refresh());
  }
}
