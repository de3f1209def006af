package dev.athanor.service.config;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.openinference.Models;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.tensor.TensorStore;
import java.time.Clock;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Beans of the Open Inference Protocol, shared by REST and gRPC. */
@Configuration(proxyBeanMethods = false)
class InferenceConfiguration {

  @Bean
  Models models(
      Catalogue catalogue,
      StoredModels stored,
      OpRunner runner,
      TensorStore store,
      DeviceHealth health,
      Clock clock,
      @Value("${info.version}") String version) {
    return new Models(catalogue, stored, runner, store, health, clock, version);
  }
}
