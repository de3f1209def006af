package dev.athanor.client;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The service of this build on the emulator, started once for all tests. */
final class LiveService {

  private static final String MAIN = "dev.athanor.service.AthanorApplication";
  private static final long LONGEST_START = TimeUnit.MINUTES.toNanos(3);

  private static boolean started;
  private static int httpPort;
  private static int grpcPort;

  private LiveService() {}

  static synchronized String http() {
    start();
    return "http://127.0.0.1:" + httpPort;
  }

  static synchronized String grpc() {
    start();
    return "grpc://127.0.0.1:" + grpcPort;
  }

  /** Both transports, for parameterized tests. */
  static Stream<String> urls() {
    return Stream.of(http(), grpc());
  }

  private static void start() {
    if (started) {
      return;
    }
    try {
      httpPort = freePort();
      grpcPort = freePort();
      Process unused = start(httpPort, grpcPort, Athanor.builder("http://127.0.0.1:" + httpPort));
      started = true;
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Starts a service, which is stopped after the tests at the latest, and waits until it is ready.
   *
   * @param probe a client of this service
   * @param settings such as {@code server.ssl.bundle=web}
   */
  static Process start(int httpPort, int grpcPort, AthanorBuilder probe, String... settings)
      throws IOException, InterruptedException {
    var log = Files.createTempFile("athanor-client-test-", ".log");
    var process =
        new ProcessBuilder(command(httpPort, grpcPort, settings))
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
    awaitReady(process, log, probe);
    Files.delete(log);
    return process;
  }

  private static List<String> command(int httpPort, int grpcPort, String... settings) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx1g"));
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), MAIN));
    command.add("--athanor.device=emulator");
    command.add("--server.port=" + httpPort);
    command.add("--spring.grpc.server.port=" + grpcPort);
    for (var setting : settings) {
      command.add("--" + setting);
    }
    return command;
  }

  static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static void awaitReady(Process process, Path log, AthanorBuilder probe)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + LONGEST_START;
    try (var athanor = probe.maxRetries(0).build()) {
      while (System.nanoTime() < end) {
        if (process.waitFor(100, TimeUnit.MILLISECONDS)) {
          throw new IllegalStateException("The service ended:\n" + Files.readString(log));
        }
        try {
          if (athanor.ready()) {
            return;
          }
        } catch (AthanorException e) {
          // not listening yet
        }
      }
    }
    throw new IllegalStateException("The service is not ready:\n" + Files.readString(log));
  }
}
