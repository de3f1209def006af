package dev.athanor.testing;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The service on the emulator, in a separate process. */
public final class ServiceProcess implements AutoCloseable {

  private static final String MAIN = "dev.athanor.service.AthanorApplication";
  private static final String LAUNCHER =
      "org.springframework.boot.loader.launch.PropertiesLauncher";

  /** The report that the service logs when it is ready: the bound ports, and a last line. */
  private static final Pattern REPORT =
      Pattern.compile("(?ms) REST +(\\S+)$.* gRPC +\\S+:(\\d+)$.* Callers ");

  private final Path log;
  private final Process process;
  private @Nullable URI url;
  private int grpcPort;

  /**
   * Starts the service with the class path of this process, without waiting until it is ready.
   *
   * @param folder the folder for its log
   * @param jvm JVM options
   * @param settings settings of the service, such as {@code athanor.run.streams=2}; by default it
   *     listens on free ports of 127.0.0.1
   */
  public ServiceProcess(Path folder, List<String> jvm, List<String> settings) throws IOException {
    this(folder, System.getProperty("java.class.path"), jvm, MAIN, settings);
  }

  private ServiceProcess(
      Path folder, String classPath, List<String> jvm, String main, List<String> settings)
      throws IOException {
    var all = new LinkedHashMap<String, String>();
    all.put("athanor.device", "emulator");
    all.put("server.address", "127.0.0.1");
    all.put("server.port", "0");
    all.put("spring.grpc.server.port", "0");
    for (var setting : settings) {
      int equals = setting.indexOf('=');
      all.put(setting.substring(0, equals), setting.substring(equals + 1));
    }
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    // most of its code runs a few times; later options prevail
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(jvm);
    command.addAll(List.of("-cp", classPath, main));
    all.forEach((name, value) -> command.add("--" + name + "=" + value));
    log = Files.createTempFile(folder, "service-", ".log");
    process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
  }

  /** Starts the service and waits until it is ready. The parameters are the constructor's. */
  public static ServiceProcess start(Path folder, List<String> jvm, List<String> settings)
      throws IOException, InterruptedException {
    return ready(new ServiceProcess(folder, jvm, settings));
  }

  /**
   * Starts the service of the command line's jar and waits until it is ready, for tests without it
   * on their class path.
   *
   * @param folder the folder for its log
   */
  public static ServiceProcess ofJar(Path folder, Path jar)
      throws IOException, InterruptedException {
    var jvm = List.of("-Xmx1g", "-Dloader.main=" + MAIN);
    return ready(new ServiceProcess(folder, jar.toString(), jvm, LAUNCHER, List.of()));
  }

  private static ServiceProcess ready(ServiceProcess service)
      throws IOException, InterruptedException {
    try {
      service.awaitReady();
    } catch (AssertionError | InterruptedException e) {
      service.close();
      throw e;
    }
    return service;
  }

  /**
   * Waits until the service is ready.
   *
   * @throws AssertionError with its output if it exits
   */
  public void awaitReady() throws IOException, InterruptedException {
    while (true) {
      boolean exited = process.waitFor(100, TimeUnit.MILLISECONDS);
      var report = REPORT.matcher(output());
      if (report.find()) {
        url = URI.create(report.group(1));
        grpcPort = Integer.parseInt(report.group(2));
        return;
      }
      if (exited) {
        throw new AssertionError("the service exited: " + output());
      }
    }
  }

  /** Returns the base URL of REST. The service must be ready. */
  public URI url() {
    if (url == null) {
      throw new IllegalStateException("the service is not ready");
    }
    return url;
  }

  /** Returns the gRPC port. The service must be ready. */
  public int grpcPort() {
    url();
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
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
