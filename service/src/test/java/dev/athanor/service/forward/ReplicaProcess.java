package dev.athanor.service.forward;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
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

/** One replica in a process of its own, at an address of loopback that ends with its mark. */
final class ReplicaProcess implements AutoCloseable {

  private final String address;
  private final int port;
  private final Path log;
  private final Process process;

  /** Starts one and does not wait for it. */
  ReplicaProcess(String mark, int port, Path folder) throws IOException {
    address = "127.0.0." + mark;
    this.port = port;
    log = folder.resolve("replica-" + mark + ".log");
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"));
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-Dathanor.replica=athanor-" + mark);
    command.add("-Dathanor.forward.url=http://127.0.0.{replica}:" + port);
    command.add("-Dathanor.tuning.cache=" + folder.resolve("tuning-" + mark + ".json"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of("dev.athanor.service.Athanor", "serve", "--device", "emulator"));
    command.addAll(List.of("--bind", address, "--port", Integer.toString(port)));
    command.addAll(List.of("--grpc-port", "0"));
    process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
  }

  String address() {
    return address + ":" + port;
  }

  void awaitReady(HttpClient client) {
    var ready = HttpRequest.newBuilder(URI.create("http://" + address() + "/readyz")).build();
    await(address)
        .atMost(Duration.ofMinutes(3))
        .pollInterval(Duration.ofMillis(200))
        .until(() -> {
          if (!process.isAlive()) {
            throw new AssertionError("the replica ended: " + Files.readString(log));
          }
          try {
            return client.send(ready, BodyHandlers.discarding()).statusCode() == 200;
          } catch (IOException e) {
            return false;
          }
        });
  }

  /** Ends it at once, as the loss of its machine would. */
  void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor(30, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
