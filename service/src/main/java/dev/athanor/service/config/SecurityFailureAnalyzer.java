package dev.athanor.service.config;

import dev.athanor.service.security.SecurityMisconfigured;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says in a sentence, without a stack trace, which settings would leave the service open. */
class SecurityFailureAnalyzer extends AbstractFailureAnalyzer<SecurityMisconfigured> {

  @Override
  protected FailureAnalysis analyze(Throwable failure, SecurityMisconfigured cause) {
    return new FailureAnalysis(
        String.valueOf(cause.getMessage()), "docs/security.md describes the modes.", cause);
  }
}
