package dev.athanor.service.http;

import dev.athanor.service.metrics.Traces;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

/** Adds the trace of the request to the response. */
@Component
@Order(Ordered.HIGHEST_PRECEDENCE + 2) // after Spring Boot's filter, which starts the span
class TraceFilter extends OncePerRequestFilter {

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    var trace = Traces.response();
    if (trace != null) {
      response.setHeader(Traces.RESPONSE, trace);
    }
    chain.doFilter(request, response);
  }
}
