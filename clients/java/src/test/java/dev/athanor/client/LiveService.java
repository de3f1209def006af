package dev.athanor.client;

import dev.athanor.testing.ServiceProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The service of this build on the emulator, started once for all tests. */
final class LiveService {

  private static @Nullable ServiceProcess service;

  private LiveService() {}

  static String http() {
    return service().url().toString();
  }

  static String grpc() {
    return "grpc://127.0.0.1:" + service().grpcPort();
  }

  /** Both transports, for parameterized tests. */
  static Stream<String> urls() {
    return Stream.of(http(), grpc());
  }

  private static synchronized ServiceProcess service() {
    if (service == null) {
      try {
        service = start();
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
    return service;
  }

  /**
   * Starts a service, which is stopped after the tests at the latest.
   *
   * @param settings such as {@code server.ssl.bundle=web}
   */
  static ServiceProcess start(String... settings) throws IOException, InterruptedException {
    var started = ServiceProcess.start(Path.of("target"), List.of("-Xmx1g"), List.of(settings));
    Runtime.getRuntime().addShutdownHook(new Thread(started::close));
    return started;
  }
}
