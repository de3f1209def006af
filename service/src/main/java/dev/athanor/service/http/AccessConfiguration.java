package dev.athanor.service.http;

import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.security.BrowserGuard;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.RequestLimit;
import dev.athanor.service.security.Rules;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.config.observation.SecurityObservationSettings;
import org.springframework.security.web.DefaultSecurityFilterChain;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.firewall.HttpFirewall;
import org.springframework.security.web.firewall.RequestRejectedHandler;
import org.springframework.security.web.firewall.StrictHttpFirewall;
import org.springframework.security.web.util.matcher.AnyRequestMatcher;

/**
 * Spring Security with its firewall and a single filter. The service uses neither sessions nor
 * cookies, so it needs no CSRF tokens; {@link BrowserGuard} protects the modes in which no header
 * authenticates.
 */
@Configuration(proxyBeanMethods = false)
class AccessConfiguration {

  @Bean
  SecurityFilterChain access(
      Callers callers,
      Rules rules,
      BrowserGuard browsers,
      RequestLimit requests,
      ProcessorShares processors) {
    return new DefaultSecurityFilterChain(
        AnyRequestMatcher.INSTANCE,
        new AccessFilter(callers, rules, browsers, requests, processors));
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
}
