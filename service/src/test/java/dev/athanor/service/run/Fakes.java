package dev.athanor.service.run;

import dev.athanor.engine.Devices;
import dev.athanor.ops.Catalogue;
import dev.athanor.service.TestClock;
import dev.athanor.service.config.DeviceFactory;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import java.time.Clock;
import java.util.List;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;

/** Configures the service with {@link FakeDevice}, {@link TestOps} and {@link TestClock}. */
@TestConfiguration(proxyBeanMethods = false)
public class Fakes {
  /** Collects all spans. */
  @Bean
  InMemorySpanExporter traces() {
    return InMemorySpanExporter.create();
  }

  @Bean
  FakeDevice fakeDevice() {
    return new FakeDevice();
  }

  @Bean
  @Primary
  DeviceFactory fakeFactory(FakeDevice device) {
    return _ -> List.of(new Devices.Opened(device, "fake device of tests"));
  }

  @Bean
  @Primary
  Clock testClock() {
    return new TestClock();
  }

  @Bean
  @Primary
  Catalogue testCatalogue() {
    return new Catalogue(
        List.of(
            new TestOps.Identity(), new TestOps.Concat(), new TestOps.Join(), new TestOps.Split()));
  }
}
