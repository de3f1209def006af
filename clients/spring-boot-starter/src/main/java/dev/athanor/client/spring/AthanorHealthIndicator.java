package dev.athanor.client.spring;

import dev.athanor.client.Athanor;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Reports whether the service accepts calls. */
final class AthanorHealthIndicator extends AbstractHealthIndicator {

  private final Athanor athanor;
  private final String url;

  AthanorHealthIndicator(Athanor athanor, String url) {
    super("The Athanor service cannot be reached.");
    this.athanor = athanor;
    this.url = url;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    health.withDetail("url", url);
    if (athanor.ready()) {
      health.up();
    } else {
      health.outOfService();
    }
  }
}
