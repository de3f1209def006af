package dev.athanor.service.forward;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.web.filter.OncePerRequestFilter;

/** Names the replica that answers, in the header {@code Athanor-Replica}. */
@Order(Ordered.HIGHEST_PRECEDENCE + 3)
public final class ReplicaHeader extends OncePerRequestFilter {

  private final String replica;

  /**
   * @param replica its id
   */
  public ReplicaHeader(String replica) {
    this.replica = replica;
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    response.setHeader("Athanor-Replica", replica);
    chain.doFilter(request, response);
  }
}
