package dev.athanor.service;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The service on the emulator, in a separate process. */
public final class ServiceProcess implements AutoCloseable {

  private static final Duration START_TIMEOUT = Duration.ofMinutes(3);

  private final URI url;
  private final int grpcPort;
  private final Path log;
  private final Process process;

  /**
   * Starts the service without waiting until it is ready.
   *
   * @param address the loopback address to bind
   * @param grpcPort 0 for a free port
   * @param log the file for its output
   * @param jvm JVM options
   * @param settings settings of the service, such as {@code athanor.run.streams=2}
   */
  public ServiceProcess(
      String address, int port, int grpcPort, Path log, List<String> jvm, List<String> settings)
      throws IOException {
    url = URI.create("http://%s:%d".formatted(address, port));
    this.grpcPort = grpcPort;
    this.log = log;
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    // most of its code runs a few times; later options prevail
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(jvm);
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(AthanorApplication.class.getName());
    command.add("--athanor.device=emulator");
    command.add("--server.address=" + address);
    command.add("--server.port=" + port);
    command.add("--spring.grpc.server.port=" + grpcPort);
    settings.forEach(setting -> command.add("--" + setting));
    process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
  }

  /**
   * Starts the service on free ports and waits until it is ready.
   *
   * @param folder the folder for its log
   */
  public static ServiceProcess start(Path folder, String... settings)
      throws IOException, InterruptedException {
    var log = Files.createTempFile(folder, "service-", ".log");
    var service =
        new ServiceProcess("127.0.0.1", freePort(), freePort(), log, List.of(), List.of(settings));
    try {
      service.awaitReady();
    } catch (AssertionError | InterruptedException e) {
      service.close();
      throw e;
    }
    return service;
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /**
   * Waits until the service is ready.
   *
   * @throws AssertionError with its output if it exits or is not ready within three minutes
   */
  public void awaitReady() throws IOException, InterruptedException {
    var ready = HttpRequest.newBuilder(url.resolve("/readyz")).build();
    long end = System.nanoTime() + START_TIMEOUT.toNanos();
    try (var client = HttpClient.newHttpClient()) {
      while (System.nanoTime() < end) {
        if (process.waitFor(100, TimeUnit.MILLISECONDS)) {
          throw new AssertionError("the service exited: " + output());
        }
        try {
          if (client.send(ready, BodyHandlers.discarding()).statusCode() == 200) {
            return;
          }
        } catch (IOException e) {
          // not listening yet
        }
      }
    }
    throw new AssertionError("the service is not ready: " + output());
  }

  /** Returns the base URL of REST. */
  public URI url() {
    return url;
  }

  public int grpcPort() {
    return grpcPort;
  }

  public Process process() {
    return process;
  }

  /** Returns the output so far. */
  public String output() throws IOException {
    return Files.readString(log);
  }

  /** Kills the process immediately, as if its machine failed. */
  public void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor(30, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
