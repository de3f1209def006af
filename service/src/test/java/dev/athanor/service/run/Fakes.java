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

/** The service over host memory, with the ops of {@link TestOps} and a clock of the tests. */
@TestConfiguration(proxyBeanMethods = false)
public class Fakes {
  /** Whatever is traced ends here. */
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
    return _ -> List.of(new Devices.Opened(device, "tests need no other"));
  }

  @Bean
  @Primary
  Clock testClock() {
    return new TestClock();
  }

  @Bean
  @Primary
  Catalogue testCatalogue() {
    return new Catalogue(List.of(new TestOps.Identity(), new TestOps.Concat()));
  }
}
