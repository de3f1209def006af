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

/** The service of this very program in a process of its own, on a free port of loopback. */
public final class ServiceProcess implements AutoCloseable {

  private static final Duration LONGEST_START = Duration.ofMinutes(3);
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
   * Starts it and waits until it is ready.
   *
   * @param device as {@code athanor serve} takes it
   * @throws LoadException when it ends instead, with the last that it said
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

  /** A program in one jar brings further jars in it, and a class loader that finds them. */
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
    long end = System.nanoTime() + LONGEST_START.toNanos();
    try (var target = new Target(url, grpc(), Map.of())) {
      while (System.nanoTime() < end) {
        if (process.waitFor(100, TimeUnit.MILLISECONDS)) {
          throw new LoadException("the service ended at its start: " + lastLine());
        }
        if (isReady(target.http())) {
          return;
        }
      }
    }
    throw new LoadException("the service was not ready after %s".formatted(LONGEST_START));
  }

  private static boolean isReady(Athanor service) {
    try {
      return service.ready();
    } catch (AthanorException e) {
      return false; // it does not listen yet
    }
  }

  private String lastLine() throws IOException {
    return Files.readAllLines(log).stream()
        .filter(line -> !line.isBlank())
        .reduce((_, last) -> last)
        .orElse("it said nothing");
  }

  /** Where it listens. */
  public URI url() {
    return url;
  }

  /** Where it serves gRPC: host and port. */
  public String grpc() {
    return "127.0.0.1:%d".formatted(grpcPort);
  }

  /** Ends it, at once if it does not go by itself. */
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
