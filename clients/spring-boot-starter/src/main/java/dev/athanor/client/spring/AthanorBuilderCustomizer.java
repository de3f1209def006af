package dev.athanor.client.spring;

import dev.athanor.client.AthanorBuilder;

/** Changes the settings of the client before it is built, such as TLS or a bearer token. */
@FunctionalInterface
public interface AthanorBuilderCustomizer {

  /** Changes settings. */
  void customize(AthanorBuilder builder);
}
