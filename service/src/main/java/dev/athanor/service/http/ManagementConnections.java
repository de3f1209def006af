package dev.athanor.service.http;

import dev.athanor.service.security.ConnectionLimit;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Configures the connections of a separate management port: fewer connections, and dedicated
 * threads, so that probes are answered even while REST is overloaded.
 */
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
@Conditional(ManagementConnections.OfItsOwn.class)
class ManagementConnections {

  private static final int CONNECTIONS = 128;
  private static final int THREADS = 8;

  @Bean
  Connections connections(ConnectionLimit limit, RestSettings settings) {
    return new Connections(limit, settings);
  }

  @Bean
  ContainerErrors containerErrors() {
    return new ContainerErrors();
  }

  @Bean
  WebServerFactoryCustomizer<TomcatServletWebServerFactory> ownThreads() {
    return factory ->
        factory.addConnectorCustomizers(connector -> {
          var protocol = (HttpProtocol) connector.getProtocolHandler();
          protocol.setExecutor(null);
          protocol.setMinSpareThreads(1);
          protocol.setMaxThreads(THREADS);
          protocol.setMaxConnections(CONNECTIONS);
        });
  }

  /** Matches only in the management context, whose parent is the REST context. */
  static final class OfItsOwn implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      var beans = context.getBeanFactory();
      return beans != null && beans.getParentBeanFactory() != null;
    }
  }
}
