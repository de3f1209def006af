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
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.security.cert.X509Certificate;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.HttpHeaders;
import org.springframework.security.authentication.AbstractAuthenticationToken;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.authorization.AuthorizationDecision;
import org.springframework.security.config.ObjectPostProcessor;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer;
import org.springframework.security.config.annotation.web.configurers.HeadersConfigurer;
import org.springframework.security.config.http.SessionCreationPolicy;
import org.springframework.security.config.observation.SecurityObservationSettings;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.AuthenticationException;
import org.springframework.security.core.authority.AuthorityUtils;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.access.intercept.AuthorizationFilter;
import org.springframework.security.web.authentication.AnonymousAuthenticationFilter;
import org.springframework.security.web.authentication.AuthenticationFilter;
import org.springframework.security.web.firewall.HttpFirewall;
import org.springframework.security.web.firewall.RequestRejectedHandler;
import org.springframework.security.web.firewall.StrictHttpFirewall;
import org.springframework.security.web.header.HeaderWriterFilter;
import org.springframework.security.web.header.writers.StaticHeadersWriter;

/**
 * Authentication and authorization of HTTP requests with {@link Callers} and {@link Rules}.
 * Credentials are checked only if the rule requires them, and before the body is read. The service
 * uses neither sessions nor cookies, so it needs no CSRF tokens; {@link BrowserGuard} protects the
 * modes in which no header authenticates.
 */
@Configuration(proxyBeanMethods = false)
class AccessConfiguration {

  /** The request attribute that caches the matching rule. */
  private static final String MATCH = Match.class.getName();

  private static final String CERTIFICATES = "jakarta.servlet.request.X509Certificate";

  private final Callers callers;
  private final Rules rules;
  private final BrowserGuard browsers;
  private final RequestLimit requests;
  private final ProcessorShares processors;

  AccessConfiguration(
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

  @Bean
  SecurityFilterChain access(HttpSecurity http, AuthenticationManager manager) {
    return http.authorizeHttpRequests(requests ->
            requests
                .dispatcherTypeMatchers(DispatcherType.ERROR, DispatcherType.ASYNC)
                .permitAll()
                .anyRequest()
                .access((authentication, context) ->
                    new AuthorizationDecision(admits(context.getRequest(), authentication.get()))))
        .addFilterAfter(this::rejectForeignPages, HeaderWriterFilter.class)
        .addFilterBefore(authentication(manager), AnonymousAuthenticationFilter.class)
        .addFilterAfter(AccessConfiguration::rejectBody, AuthorizationFilter.class)
        .addFilterAfter(this::limitRequests, AuthorizationFilter.class)
        .exceptionHandling(handling ->
            handling
                .authenticationEntryPoint(
                    (request, response, e) -> unauthenticated(request, response, e))
                .accessDeniedHandler((request, response, _) -> denied(request, response)))
        .headers(AccessConfiguration::headers)
        .sessionManagement(
            session -> session.sessionCreationPolicy(SessionCreationPolicy.STATELESS))
        .csrf(AbstractHttpConfigurer::disable)
        .logout(AbstractHttpConfigurer::disable)
        .requestCache(AbstractHttpConfigurer::disable)
        .servletApi(AbstractHttpConfigurer::disable)
        .build();
  }

  private static void headers(HeadersConfigurer<HttpSecurity> headers) {
    headers
        // responses belong to one tenant, and shared caches do not know X-API-Key
        .cacheControl(cache -> cache.disable())
        .addHeaderWriter(new StaticHeadersWriter(HttpHeaders.CACHE_CONTROL, "private, no-cache"))
        .contentSecurityPolicy(
            policy -> policy.policyDirectives("default-src 'none'; frame-ancestors 'none'"))
        .referrerPolicy(policy -> {})
        .withObjectPostProcessor(
            new ObjectPostProcessor<HeaderWriterFilter>() {
              @Override
              public <F extends HeaderWriterFilter> F postProcess(F filter) {
                // otherwise the filter would intercept every write to detect the commit
                filter.setShouldWriteHeadersEagerly(true);
                return filter;
              }
            });
  }

  /** Disables observations per filter, which would cost more than the filters. */
  @Bean
  SecurityObservationSettings observations() {
    return SecurityObservationSettings.noObservations();
  }

  /** Allows all HTTP methods, since the rules answer 405 for unsupported ones. */
  @Bean
  HttpFirewall firewall() {
    var firewall = new StrictHttpFirewall();
    firewall.setUnsafeAllowAnyHttpMethod(true);
    return firewall;
  }

  /** Rejects suspicious paths, such as those with {@code //}, {@code ;} or {@code %2e}. */
  @Bean
  RequestRejectedHandler rejected() {
    return (request, response, _) -> Problems.write(request, response, Problems.of(400));
  }

  /** Defines the authentication manager, so that Spring Boot does not create a default user. */
  @Bean
  AuthenticationManager authenticationManager() {
    return authentication -> {
      try {
        return new Authenticated(callers.identify(((Unauthenticated) authentication).credentials));
      } catch (Failure e) {
        throw new AuthenticationFailed(e);
      }
    };
  }

  private AuthenticationFilter authentication(AuthenticationManager manager) {
    var filter =
        new AuthenticationFilter(manager, request -> new Unauthenticated(credentials(request)));
    filter.setRequestMatcher(
        request -> !(match(request) instanceof Match.Ruled(Rule rule) && rule.open()));
    filter.setSuccessHandler((request, _, authentication) -> {
      request.setAttribute(HttpRequests.CALLER, ((Authenticated) authentication).caller);
      Connections.enlargeBuffers();
    });
    filter.setFailureHandler(this::unauthenticated);
    return filter;
  }

  private void rejectForeignPages(
      ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    var http = (HttpServletRequest) request;
    var refusal =
        request.getDispatcherType() == DispatcherType.REQUEST
            ? browsers.refusal(http.getHeader(HttpHeaders.HOST), http.getHeader(HttpHeaders.ORIGIN))
            : Optional.<Failure>empty();
    if (refusal.isPresent()) {
      Problems.write(http, (HttpServletResponse) response, refusal.get());
    } else {
      chain.doFilter(request, response);
    }
  }

  /**
   * Rejects bodies of {@code GET} and {@code HEAD} requests. Actuator would otherwise parse them
   * for unauthenticated probes, at any size and rate.
   */
  private static void rejectBody(
      ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    var http = (HttpServletRequest) request;
    boolean reads = http.getMethod().equals("GET") || http.getMethod().equals("HEAD");
    if (reads
        && request.getDispatcherType() == DispatcherType.REQUEST
        && !Connections.isBodyRead()) {
      Problems.write(
          http,
          (HttpServletResponse) response,
          new Failure.Refused(
              Code.MALFORMED_BODY, "%s requests must not have a body".formatted(http.getMethod())));
    } else {
      chain.doFilter(request, response);
    }
  }

  /** Counts a request of a known caller, and its use of processors, until it is answered. */
  private void limitRequests(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    if (request.getDispatcherType() != DispatcherType.REQUEST
        || !(request.getAttribute(HttpRequests.CALLER) instanceof Caller caller)) {
      chain.doFilter(request, response);
      return;
    }
    try {
      requests.begin(caller);
    } catch (Failure e) {
      Problems.write((HttpServletRequest) request, (HttpServletResponse) response, e);
      return;
    }
    try (var _ = processors.open(caller.account())) {
      chain.doFilter(request, response);
    } finally {
      requests.end(caller);
    }
  }

  private Match match(HttpServletRequest request) {
    if (request.getAttribute(MATCH) instanceof Match cached) {
      return cached;
    }
    var match = rules.route(request.getMethod(), request.getRequestURI());
    request.setAttribute(MATCH, match);
    return match;
  }

  private boolean admits(HttpServletRequest request, @Nullable Authentication authentication) {
    return match(request) instanceof Match.Ruled(Rule rule)
        && (rule.open()
            || (authentication instanceof Authenticated authenticated
                && rule.admits(authenticated.caller)));
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
      HttpServletRequest request, HttpServletResponse response, AuthenticationException e)
      throws IOException {
    if (e instanceof AuthenticationFailed failed && failed.failure.code() != Code.UNAUTHENTICATED) {
      Problems.write(request, response, failed.failure);
      return;
    }
    boolean tried = !credentials(request).isEmpty();
    response.setHeader(
        HttpHeaders.WWW_AUTHENTICATE,
        callers.challenge() + (tried ? ", error=\"invalid_token\"" : ""));
    Problems.write(
        request,
        response,
        e instanceof AuthenticationFailed failed
            ? failed.failure
            : new Failure.Refused(Code.UNAUTHENTICATED, "Authentication required"));
  }

  private void denied(HttpServletRequest request, HttpServletResponse response) throws IOException {
    switch (match(request)) {
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

  /** The credentials of a request before authentication. */
  private static final class Unauthenticated extends AbstractAuthenticationToken {
    private final transient Credentials credentials;

    Unauthenticated(Credentials credentials) {
      super(AuthorityUtils.NO_AUTHORITIES);
      this.credentials = credentials;
    }

    @Override
    public String getCredentials() {
      return "";
    }

    @Override
    public String getPrincipal() {
      return "";
    }
  }

  /** An authenticated caller. */
  private static final class Authenticated extends AbstractAuthenticationToken {
    private final transient Caller caller;

    Authenticated(Caller caller) {
      super(AuthorityUtils.NO_AUTHORITIES);
      this.caller = caller;
      setAuthenticated(true);
    }

    @Override
    public String getCredentials() {
      return "";
    }

    @Override
    public String getPrincipal() {
      return caller.id();
    }
  }

  /** Carries a failure through Spring Security. */
  private static final class AuthenticationFailed extends AuthenticationException {
    private final transient Failure failure;

    AuthenticationFailed(Failure failure) {
      super(String.valueOf(failure.getMessage()), failure);
      this.failure = failure;
    }
  }
}
