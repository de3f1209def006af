package dev.athanor.service.http;

import dev.athanor.service.failure.Failure;
import java.io.IOException;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.valves.ErrorReportValve;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.core.Ordered;
import org.springframework.stereotype.Component;

/** Answers requests that Tomcat rejects by itself with a problem instead of an HTML page. */
@Component
class ContainerErrors
    implements WebServerFactoryCustomizer<TomcatServletWebServerFactory>, Ordered {

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    factory.addContextCustomizers(context -> {
      if (context.getParent() instanceof StandardHost host) {
        host.setErrorReportValveClass(ProblemValve.class.getName());
      }
    });
  }

  @Override
  public int getOrder() {
    return LOWEST_PRECEDENCE;
  }

  /** The error valve, which Tomcat instantiates by name. */
  public static final class ProblemValve extends ErrorReportValve {

    private static final Logger LOG = LoggerFactory.getLogger(ProblemValve.class);

    @Override
    protected void report(Request request, Response response, @Nullable Throwable thrown) {
      int status = response.getStatus();
      if (status < 400 || response.getContentWritten() > 0 || !response.setErrorReported()) {
        return;
      }
      Failure failure = Problems.of(status);
      try {
        Problems.write(request, response, failure);
        response.finishResponse();
      } catch (IOException e) {
        LOG.debug("Client disconnected", e);
      }
    }
  }
}
