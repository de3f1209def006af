package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.Athanor;
import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import dev.athanor.testing.Timeouts;
import io.restassured.RestAssured;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import tools.jackson.databind.json.JsonMapper;

/** Runs {@code athanor load} against the real service on the emulator. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "spring.grpc.server.port=0"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class LoadCommandTest {

  @LocalServerPort int port;
  @Autowired GrpcServerLifecycle grpc;
  private List<String> tensors = List.of();
  @TempDir Path folder;

  private CommandResult load(String... options) {
    var arguments = new ArrayList<>(List.of("load", "--url", "http://127.0.0.1:" + port));
    arguments.addAll(List.of("--grpc", "127.0.0.1:" + grpc.getPort()));
    arguments.addAll(List.of(options));
    return CommandResult.of(Athanor.commandLine(), arguments.toArray(String[]::new));
  }

  @Test
  void measuresEveryScenarioAndDeletesItsTensors() throws Exception {
    Timeouts.lengthen(300, this::measuresEveryScenario);
  }

  private boolean measuresEveryScenario(int millis) throws IOException {
    var pipeline = folder.resolve("pipeline.json");
    Files.writeString(
        pipeline,
        """
        {"inputs": {"x": {"dtype": "f32", "shape": [2], "data": [1, 2]}},
         "steps": [{"op": "add", "inputs": {"a": "x", "b": "x"}, "outputs": {"y": "twice"}}],
         "outputs": {"twice": {"as": "inline"}}}
        """);
    var json = folder.resolve("rows.json");
    var csv = folder.resolve("rows.csv");
    var scenarios =
        List.of(
            "put 64KiB",
            "get 300",
            "put-json 100",
            "get-json 100",
            "op add a=f32[8] b=f32[8]",
            "pipeline " + pipeline,
            "put-grpc 600KiB",
            "get-grpc 600KiB",
            "op-grpc add a=f32[8] b=f32[8]",
            "op-stream add a=f32[8] b=f32[8]");
    var options = new ArrayList<>(scenarios);
    options.addAll(List.of("--duration", Double.toString(millis / 1e3), "--warmup", "0"));
    options.addAll(List.of("--json", json.toString(), "--csv", csv.toString()));
    var run = load(options.toArray(String[]::new));
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).contains("put 64KiB", "above kernel").doesNotContain("WRONG");
    assertThat(run.status()).isZero();

    var rows = JsonMapper.shared().readTree(json.toFile()).get("rows");
    assertThat(rows.valueStream().map(row -> row.get("scenario").stringValue()))
        .containsExactlyElementsOf(scenarios);
    if (rows.valueStream().anyMatch(row -> row.get("requests").asLong() < 17)) {
      return false; // every sixteenth response is checked
    }
    for (var row : rows) {
      assertThat(row.get("requests").asLong()).isPositive();
      assertThat(row.get("errors").isEmpty()).isTrue();
      assertThat(row.get("wrong").asLong()).isZero();
      assertThat(row.get("checked").asLong()).isGreaterThan(1);
      var latency = row.get("latency");
      assertThat(latency.get("p50").asDouble())
          .isPositive()
          .isLessThanOrEqualTo(latency.get("p99").asDouble());
    }
    for (int op : new int[] {4, 8, 9}) {
      var phases = rows.get(op).get("phases");
      assertThat(phases.propertyNames())
          .containsExactly(
              "prepare", "queue", "upload", "kernel", "download", "total", "outside", "above");
      assertThat(phases.get("kernel").get("p50").asDouble())
          .isLessThan(phases.get("total").get("max").asDouble());
    }

    var lines = Files.readAllLines(csv);
    assertThat(lines).hasSize(1 + scenarios.size());
    assertThat(lines.getFirst()).startsWith("Scenario,Concurrency,Request Rate,Inferences/Second,");
    assertThat(lines.get(1)).startsWith("\"put 64KiB\",1,,").endsWith(",0,true");
    noTensorsAreLeft();
    return true;
  }

  /** Tensors of other tests of this service may exist. */
  @BeforeEach
  void count() {
    tensors = tensors();
  }

  private List<String> tensors() {
    return RestAssured.get("http://127.0.0.1:%d/tensors?limit=1000".formatted(port))
        .then()
        .extract()
        .path("tensors.handle");
  }

  private void noTensorsAreLeft() {
    assertThat(tensors()).isEqualTo(tensors);
  }

  @ParameterizedTest
  @ValueSource(strings = {"op", "op-grpc", "op-stream"})
  void residentOpsAndRangesOfClients(String op) {
    var json = folder.resolve("rows.json");
    var run =
        load(
            op + " matmul a=f16[16,16] b=f16[16,16] transposeB=true",
            "--resident",
            "--concurrency",
            "1:3:2",
            "--duration",
            "0.2",
            "--warmup",
            "0.2",
            "--json",
            json.toString());
    assertThat(run.err()).isEmpty();
    for (var row : JsonMapper.shared().readTree(json.toFile()).get("rows")) {
      // on a slow machine, the first call ends after the warm-up, which then has no median
      assertThat(row.get("warmup").path("p50").asDouble(1)).isPositive();
    }
    assertThat(run.out())
        .containsPattern("transposeB=true +closed +1 ")
        .containsPattern("transposeB=true +closed +3 ")
        .doesNotContain("WRONG");
    assertThat(run.status()).isZero();
    noTensorsAreLeft();
  }

  @Test
  void runsOpenLoopsAtSeveralRates() {
    var run = load("get 1KiB", "--rate", "50,100", "--arrivals", "constant", "--duration", "1");
    assertThat(run.out()).containsPattern("get 1KiB +open +50 ").containsPattern("open +100 ");
    assertThat(run.status()).isZero();
  }

  @Test
  void reportsRejectionsByTheService() {
    var run = load("op add a=f32[2] b=f32[3]");
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.err())
        .startsWith("athanor load: \"op add a=f32[2] b=f32[3]\" cannot be measured: ")
        .contains("(shape-mismatch)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"a_b:9090", "127.0.0.1", "127.0.0.1:90900", "http://127.0.0.1:9090"})
  void rejectsInvalidGrpcAddresses(String address) {
    var run = CommandResult.of(Athanor.commandLine(), "load", "--grpc", address, "get 1KiB");
    assertThat(run.err())
        .isEqualTo(
            "athanor load: --grpc %s: expected an address such as 127.0.0.1:9090%n"
                .formatted(address));
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void reportsWhyItsOwnServiceCannotStart() {
    var run =
        CommandResult.of(Athanor.commandLine(), "load", "--self", "--device", "tpu", "put 1KiB");
    assertThat(run.err())
        .isEqualTo(
            "athanor load: the service exited at startup: athanor serve: --device tpu: expected auto,"
                + " all, or one or more of emulator, cuda and vulkan, each with an optional number such"
                + " as cuda:1, separated by commas%n".formatted());
    assertThat(run.status()).isEqualTo(1);
  }
}
