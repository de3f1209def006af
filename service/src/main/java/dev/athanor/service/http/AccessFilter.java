package dev.athanor.service.http;

import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.openinference.Unsupported;
import dev.athanor.service.security.BrowserGuard;
import dev.athanor.service.security.Caller;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.Credentials;
import dev.athanor.service.security.RequestLimit;
import dev.athanor.service.security.Rule;
import dev.athanor.service.security.Rules;
import dev.athanor.service.security.Rules.Match;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.security.cert.X509Certificate;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.springframework.http.HttpHeaders;

/**
 * Authenticates and authorizes HTTP requests with {@link Callers} and {@link Rules}, before their
 * bodies are read. Credentials are checked only if the rule requires them. One filter takes a
 * fraction of the time of Spring Security's filters for the same checks.
 */
final class AccessFilter extends HttpFilter {

  private static final String CERTIFICATES = "jakarta.servlet.request.X509Certificate";

  private final transient Callers callers;
  private final transient Rules rules;
  private final transient BrowserGuard browsers;
  private final transient RequestLimit requests;
  private final transient ProcessorShares processors;

  AccessFilter(
      Callers callers,
      Rules rules,
      BrowserGuard browsers,
      RequestLimit requests,
      ProcessorShares processors) {
    this.callers = callers;
    this.rules = rules;
    this.browsers = browsers;
    this.requests = requests;
    this.processors = processors;
  }

  @Override
  protected void doFilter(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    if (request.getDispatcherType() != DispatcherType.REQUEST) {
      chain.doFilter(request, response); // the request was admitted, or has failed
      return;
    }
    setHeaders(request, response);
    var foreign =
        browsers.refusal(
            request.getHeader(HttpHeaders.HOST), request.getHeader(HttpHeaders.ORIGIN));
    if (foreign.isPresent()) {
      Problems.write(request, response, foreign.get());
      return;
    }
    var match = rules.route(request.getMethod(), request.getRequestURI());
    if (match instanceof Match.Ruled(Rule rule) && rule.open()) {
      serve(request, response, chain);
      return;
    }
    Caller caller;
    try {
      caller = callers.identify(credentials(request));
    } catch (Failure e) {
      unauthenticated(request, response, e);
      return;
    }
    request.setAttribute(HttpRequests.CALLER, caller);
    Connections.enlargeBuffers();
    if (match instanceof Match.Ruled(Rule rule) && rule.admits(caller)) {
      serve(request, response, chain, caller);
    } else {
      deny(request, response, match);
    }
  }

  /** Sets the headers that tell browsers how to treat every response. */
  private static void setHeaders(HttpServletRequest request, HttpServletResponse response) {
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.setHeader("X-XSS-Protection", "0");
    // responses belong to one tenant, and shared caches do not know X-API-Key
    response.setHeader(HttpHeaders.CACHE_CONTROL, "private, no-cache");
    response.setHeader("X-Frame-Options", "DENY");
    response.setHeader("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    response.setHeader("Referrer-Policy", "no-referrer");
    if (request.isSecure()) {
      response.setHeader("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
    }
  }

  /** Counts a request of a known caller, and its use of processors, until it is answered. */
  private void serve(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain, Caller caller)
      throws IOException, ServletException {
    try {
      requests.begin(caller);
    } catch (Failure e) {
      Problems.write(request, response, e);
      return;
    }
    try (var _ = processors.open(caller.account())) {
      serve(request, response, chain);
    } finally {
      requests.end(caller);
    }
  }

  /**
   * Rejects bodies of {@code GET} and {@code HEAD} requests. Actuator would otherwise parse them
   * for unauthenticated probes, at any size and rate.
   */
  private static void serve(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    boolean reads = request.getMethod().equals("GET") || request.getMethod().equals("HEAD");
    if (reads && !Connections.isBodyRead()) {
      Problems.write(
          request,
          response,
          new Failure.Refused(
              Code.MALFORMED_BODY,
              "%s requests must not have a body".formatted(request.getMethod())));
    } else {
      chain.doFilter(request, response);
    }
  }

  private static Credentials credentials(HttpServletRequest request) {
    return new Credentials(
        Collections.list(request.getHeaders(HttpHeaders.AUTHORIZATION)),
        Collections.list(request.getHeaders("X-API-Key")),
        request.getAttribute(CERTIFICATES) instanceof X509Certificate[] chain
            ? List.of(chain)
            : List.of(),
        request.getRemoteAddr());
  }

  private void unauthenticated(
      HttpServletRequest request, HttpServletResponse response, Failure failure)
      throws IOException {
    if (failure.code() == Code.UNAUTHENTICATED) {
      boolean tried = !credentials(request).isEmpty();
      response.setHeader(
          HttpHeaders.WWW_AUTHENTICATE,
          callers.challenge() + (tried ? ", error=\"invalid_token\"" : ""));
    }
    Problems.write(request, response, failure);
  }

  private void deny(HttpServletRequest request, HttpServletResponse response, Match match)
      throws IOException {
    switch (match) {
      case Match.Unknown() ->
          Problems.write(
              request,
              response,
              Unsupported.path(request.getRequestURI())
                  .<Failure>map(sentence -> new Failure.Refused(Code.NOT_FOUND, sentence))
                  .orElseGet(() -> Problems.of(404)));
      case Match.OtherMethod(var allowed) -> {
        response.setHeader(HttpHeaders.ALLOW, String.join(", ", allowed));
        Problems.write(request, response, Problems.of(405));
      }
      case Match.Ruled(Rule rule) -> {
        var scope = Objects.requireNonNull(rule.scope());
        response.setHeader(
            HttpHeaders.WWW_AUTHENTICATE,
            "%s, error=\"insufficient_scope\", scope=\"%s\""
                .formatted(callers.challenge(), scope.text()));
        Problems.write(request, response, callers.lacks(scope, HttpRequests.caller(request)));
      }
    }
  }
}
