package dev.athanor.service.config;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.model.PreparedModels;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.replica.Peers;
import dev.athanor.service.replica.ReplicatedModels;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.session.Generator;
import dev.athanor.service.session.SessionRuns;
import dev.athanor.service.session.Sessions;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.time.Clock;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The models that clients store, their sessions, and the generation of tokens. */
@Configuration(proxyBeanMethods = false)
class SessionConfiguration {

  @Bean
  StoredModels storedModels(
      Catalogue catalogue, TensorStore store, Transfers transfers, AthanorProperties properties) {
    return new StoredModels(catalogue, store, transfers, properties.models());
  }

  @Bean
  PreparedModels preparedModels(StoredModels models, Clock clock, OpRunner runner) {
    return new PreparedModels(models, clock, runner::run);
  }

  @Bean
  ReplicatedModels replicatedModels(
      Peers peers, Handles handles, StoredModels models, PreparedModels prepared) {
    return new ReplicatedModels(peers, handles, models, prepared);
  }

  @Bean
  Sessions sessions(
      StoredModels models,
      TensorStore store,
      Transfers transfers,
      Handles handles,
      Clock clock,
      AthanorProperties properties) {
    return new Sessions(
        models, store, transfers, handles, clock, properties.models().cachePositions());
  }

  @Bean
  SessionRuns sessionRuns(
      Sessions sessions,
      StoredModels models,
      OpRunner runner,
      Catalogue catalogue,
      TensorStore store) {
    return new SessionRuns(sessions, models, runner, catalogue, store);
  }

  @Bean
  Generator generator(
      Sessions sessions,
      StoredModels models,
      OpRunner runner,
      Catalogue catalogue,
      TensorStore store) {
    return new Generator(sessions, models, runner, catalogue, store);
  }
}
