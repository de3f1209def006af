package dev.athanor.cli.load;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** A service in a separate process of this program, on free ports of the loopback interface. */
public final class ServiceProcess implements AutoCloseable {

  private static final String MAIN = "dev.athanor.cli.Athanor";

  /** What {@code athanor serve} prints when it listens: the bound ports and whether it is ready. */
  private static final Pattern REPORT =
      Pattern.compile("(?ms) REST +(\\S+)$.* gRPC +(\\S+)$.*^(Ready|Not ready)\\b");

  private final Process process;
  private final Path log;
  private URI url = URI.create("");
  private String grpc = "";

  private ServiceProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  /**
   * Starts the service and waits until it is ready.
   *
   * @param device the value of {@code athanor serve --device}
   * @throws LoadException if it exits, with its last line, or if its self-test fails
   */
  public static ServiceProcess start(String device) throws IOException, InterruptedException {
    var log = Files.createTempFile("athanor-serve-", ".log");
    var process =
        new ProcessBuilder(command(device))
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    process.getOutputStream().close();
    var service = new ServiceProcess(process, log);
    try {
      service.awaitReady();
    } catch (LoadException | InterruptedException e) {
      service.close();
      throw e;
    }
    return service;
  }

  /**
   * Returns the command line of the service, which finds native libraries where this process does.
   */
  static List<String> command(String device) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-Djava.library.path=" + System.getProperty("java.library.path"));
    command.addAll(program());
    command.addAll(List.of("serve", "--device", device, "--port", "0", "--grpc-port", "0"));
    return command;
  }

  /** Returns the JVM's arguments to run this program from an executable jar or a class path. */
  private static List<String> program() {
    var path = System.getProperty("java.class.path");
    return ClassLoader.getSystemClassLoader().equals(ServiceProcess.class.getClassLoader())
        ? List.of("-cp", path, MAIN)
        : List.of("-jar", path);
  }

  private void awaitReady() throws IOException, InterruptedException {
    while (true) {
      boolean exited = process.waitFor(100, TimeUnit.MILLISECONDS);
      var report = REPORT.matcher(Files.readString(log));
      if (report.find()) {
        if (!report.group(3).equals("Ready")) {
          throw new LoadException("the self-test of the service failed; run athanor serve --check");
        }
        url = URI.create(report.group(1));
        grpc = report.group(2);
        return;
      }
      if (exited) {
        throw new LoadException("the service exited at startup: " + lastLine());
      }
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
    return grpc;
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
