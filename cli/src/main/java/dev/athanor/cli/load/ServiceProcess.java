package dev.athanor.cli.load;

import dev.athanor.client.Athanor;
import dev.athanor.client.AthanorException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A service in a separate process of this program, on free ports of the loopback interface. */
public final class ServiceProcess implements AutoCloseable {

  private static final Duration START_TIMEOUT = Duration.ofMinutes(3);
  private static final String MAIN = "dev.athanor.cli.Athanor";

  private final Process process;
  private final Path log;
  private final URI url;
  private final int grpcPort;

  private ServiceProcess(Process process, Path log, int port, int grpcPort) {
    this.process = process;
    this.log = log;
    this.grpcPort = grpcPort;
    url = URI.create("http://127.0.0.1:%d".formatted(port));
  }

  /**
   * Starts the service and waits until it is ready.
   *
   * @param device the value of {@code athanor serve --device}
   * @throws LoadException if it exits or is not ready in time; the message ends with its last line
   */
  public static ServiceProcess start(String device) throws IOException, InterruptedException {
    var log = Files.createTempFile("athanor-serve-", ".log");
    int port = freePort();
    int grpcPort = freePort();
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(program());
    command.addAll(List.of("serve", "--device", device));
    command.addAll(List.of("--port", Integer.toString(port)));
    command.addAll(List.of("--grpc-port", Integer.toString(grpcPort)));
    var process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
            .start();
    var service = new ServiceProcess(process, log, port, grpcPort);
    try {
      service.awaitReady();
    } catch (LoadException | InterruptedException e) {
      service.close();
      throw e;
    }
    return service;
  }

  /** Returns the JVM's arguments to run this program from an executable jar or a class path. */
  private static List<String> program() {
    var path = System.getProperty("java.class.path");
    return ClassLoader.getSystemClassLoader().equals(ServiceProcess.class.getClassLoader())
        ? List.of("-cp", path, MAIN)
        : List.of("-jar", path);
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void awaitReady() throws IOException, InterruptedException {
    long end = System.nanoTime() + START_TIMEOUT.toNanos();
    try (var target = new Target(url, grpc(), Map.of())) {
      while (System.nanoTime() < end) {
        if (process.waitFor(100, TimeUnit.MILLISECONDS)) {
          throw new LoadException("the service exited at startup: " + lastLine());
        }
        if (isReady(target.http())) {
          return;
        }
      }
    }
    throw new LoadException("the service was not ready after %s".formatted(START_TIMEOUT));
  }

  private static boolean isReady(Athanor service) {
    try {
      return service.ready();
    } catch (AthanorException e) {
      return false; // not listening yet
    }
  }

  private String lastLine() throws IOException {
    return Files.readAllLines(log).stream()
        .filter(line -> !line.isBlank())
        .reduce((_, last) -> last)
        .orElse("no output");
  }

  /** The URL of the service. */
  public URI url() {
    return url;
  }

  /** The gRPC address, as {@code host:port}. */
  public String grpc() {
    return "127.0.0.1:%d".formatted(grpcPort);
  }

  /** Stops the service and kills it after 20 seconds. */
  @Override
  public void close() throws IOException {
    process.destroy();
    try {
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    Files.deleteIfExists(log);
  }
}
