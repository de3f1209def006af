package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.athanor.cli.Athanor;
import dev.athanor.cli.argument.TensorFile;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.testing.OnnxFiles;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Runs the commands for a running service against the real service on the emulator. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "spring.grpc.server.port=0"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class ServiceCommandsTest {

  private static final TensorType TYPE = TensorType.of(DType.F32, 2, 2);
  private static final HostTensor MATRIX = HostTensor.of(TYPE, 1, -2, 3, -4);

  @LocalServerPort int port;
  @TempDir Path folder;

  private String url() {
    return "http://127.0.0.1:" + port;
  }

  private CommandResult athanor(String command, String... arguments) {
    return CommandResult.of(
        Athanor.commandLine(),
        Stream.concat(Stream.of(command, "--url", url()), Stream.of(arguments))
            .toArray(String[]::new));
  }

  private String succeed(String command, String... arguments) {
    var run = athanor(command, arguments);
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    return run.out();
  }

  private JsonNode json(String command, String... arguments) {
    return JsonMapper.shared()
        .readTree(
            succeed(
                command,
                Stream.concat(Stream.of(arguments), Stream.of("--json")).toArray(String[]::new)));
  }

  private Path matrix() throws IOException {
    var file = folder.resolve("x.npy");
    TensorFile.write(file, MATRIX);
    return file;
  }

  private Path safetensors(String... names) throws IOException {
    var types = new LinkedHashMap<String, TensorType>();
    var data = new ByteArrayOutputStream();
    for (var name : names) {
      types.put(name, TensorType.of(DType.BF16, 3));
      data.writeBytes(new byte[] {(byte) 0x80, 0x3F, 0, 0x40, (byte) types.size(), 0});
    }
    var file = folder.resolve("model.safetensors");
    Files.write(file, Safetensors.header(types, Map.of("format", "pt")).orElseThrow());
    Files.write(file, data.toByteArray(), StandardOpenOption.APPEND);
    return file;
  }

  @Test
  void statusDescribesTheService() {
    assertThat(succeed("status"))
        .containsPattern("^athanor \\d+\\.\\d+\\.\\d+\\S* at %s, \\d+ tensors\\R".formatted(url()))
        .containsPattern("(?m)^emulator:0 .* sm_\\w+ +ready .* [GM]iB .* 0 of \\d+ busy$");
    var status = json("status");
    assertThat(status.get("url").stringValue()).isEqualTo(url());
    assertThat(status.get("devices").get(0).get("memory").get("free").asLong()).isPositive();
  }

  @Test
  void psCountsRequestsByOp() throws IOException {
    succeed("run", "relu", "--in", "x=" + matrix());
    assertThat(athanor("run", "gelu", "--in", "x=" + matrix(), "--attr", "y=1").status()).isOne();
    var out = succeed("ps");
    assertThat(out)
        .containsPattern("^device +running +waiting\\Remulator:0 +\\d+ +\\d+\\R")
        .containsPattern("(?m)^gelu +1 +1$")
        .containsPattern("(?m)^relu +[1-9]\\d* +0$");
    assertThat(json("ps").get("devices").get(0).get("waiting").asInt()).isZero();
  }

  @Test
  void storesListsReadsAndDeletesTensors() throws IOException {
    var handle = succeed("put", matrix().toString()).strip();
    assertThat(handle).startsWith("t_");
    assertThat(succeed("put", matrix().toString(), "--name", "w")).isEqualTo("w%n".formatted());

    assertThat(succeed("tensors"))
        .containsPattern("^handle +name +dtype +shape +bytes +device +lease ends\\R")
        .containsPattern("(?m)^t_\\S+ +w +f32 +\\[2,2] +16 +emulator:0 +never$")
        .containsPattern("(?m)^%s +f32 +\\[2,2] +16 +emulator:0 +\\S+Z$".formatted(handle));
    var listed = json("tensors").valueStream().filter(t -> text(t, "handle").equals(handle));
    assertThat(listed)
        .singleElement()
        .satisfies(tensor -> {
          assertThat(text(tensor, "dtype")).isEqualTo("f32");
          assertThat(tensor.get("shape").toString()).isEqualTo("[2,2]");
          assertThat(tensor.get("name").isNull()).isTrue();
        });

    assertThat(succeed("get", "w")).isEqualTo("w f32[2,2]%n[[ 1 -2]%n [ 3 -4]]%n".formatted());
    var file = folder.resolve("y.npy");
    assertThat(succeed("get", handle, file.toString()))
        .isEqualTo("%s f32[2,2], written to %s%n".formatted(handle, file));
    assertThat(TensorFile.read(file).toDoubles()).isEqualTo(MATRIX.toDoubles());

    var permanent = succeed("put", matrix().toString(), "--lease", "0").strip();
    assertThat(succeed("tensors")).containsPattern("(?m)^%s .* never$".formatted(permanent));
    succeed("rm", permanent);

    var removed = athanor("rm", "nothing", handle, "w");
    assertThat(removed.err()).startsWith("athanor rm: ").contains("nothing").hasLineCount(1);
    assertThat(removed.status()).isOne();
    assertThat(athanor("get", "w").status()).isOne();
    assertThat(succeed("tensors")).doesNotContain(handle);
  }

  private static String text(JsonNode node, String member) {
    return node.get(member).stringValue();
  }

  @Test
  void listsMoreTensorsThanOnePage() throws IOException {
    var names = Stream.iterate(0, i -> i + 1).limit(101).map(i -> "layer." + i + ".weight");
    var file = safetensors(names.toArray(String[]::new)).toString();
    var stored = json("put", file, "--lease", "600");
    assertThat(stored).hasSize(101);
    assertThat(stored.get(100).get("expiresAt").isNull()).isFalse();
    assertThat(json("tensors").valueStream().map(tensor -> tensor.get("name").asString("")))
        .contains("layer.0.weight", "layer.100.weight");
    assertThat(json("status").get("tensors").asInt()).isGreaterThan(100);
    var bytes = folder.resolve("last.bin");
    succeed("get", "layer.100.weight", bytes.toString());
    assertThat(Files.readAllBytes(bytes)).containsExactly(0x80, 0x3F, 0, 0x40, 101, 0);
    var remove =
        Stream.iterate(0, i -> i + 1).limit(101).map(i -> "layer." + i + ".weight").toList();
    succeed("rm", remove.toArray(String[]::new));
  }

  @Test
  void importStoresModels() throws IOException {
    var model = OnnxFiles.models().get("resnet");
    var file =
        Files.write(
            folder.resolve("resnet.onnx"),
            Objects.requireNonNull(Objects.requireNonNull(model).get("model")));
    assertThat(succeed("import", file.toString(), "--name", "resnet")).matches("resnet@\\d+\\R");
    var invalid = athanor("import", file.toString(), "--name", "a/b");
    assertThat(invalid.err()).startsWith("athanor import: --name: ");
    assertThat(invalid.status()).isEqualTo(2);
  }

  @Test
  void renamesTheOnlyTensorOfASafetensorsFile() throws IOException {
    assertThat(succeed("put", safetensors("a").toString(), "--name", "b")).startsWith("b");
    succeed("rm", "b");
    var two = safetensors("a", "b").toString();
    assertThat(athanor("put", two, "--name", "c").err())
        .isEqualTo(
            "athanor put: --name c: %s has 2 tensors, which have their own names%n".formatted(two));
  }

  @Test
  void readsAndWritesSafetensorsFilesOfOneTensor() throws IOException {
    succeed("put", matrix().toString(), "--name", "w");
    var file = folder.resolve("weights.safetensors");
    succeed("get", "w", file.toString());
    assertThat(TensorFile.readSafetensors(file)).containsOnlyKeys("weights");
    var result = folder.resolve("y.safetensors");
    succeed("run", "relu", "--in", "x=" + file, "--out", "y=" + result);
    assertThat(TensorFile.read(result).toDoubles()).containsExactly(1, 0, 3, 0);
    var two = safetensors("a", "b");
    assertThat(athanor("run", "relu", "--in", "x=" + two).err())
        .isEqualTo("athanor run: --in x=%s: %1$s has 2 tensors, expected one%n".formatted(two));
    succeed("rm", "w");
  }

  @Test
  void rejectsEmptyNames() throws IOException {
    assertThat(athanor("put", matrix().toString(), "--name", "").err())
        .startsWith("athanor put: Invalid name \"\": a name has 1 to 128 letters");
    assertThat(athanor("put", safetensors("").toString()).err())
        .startsWith("athanor put: Invalid name \"\": a name has 1 to 128 letters");
  }

  @Test
  void runPrintsWhatALocalRunPrints() throws IOException {
    var x = "x=" + matrix();
    var remote = succeed("run", "relu", "--in", x).lines().toList();
    var local =
        CommandResult.of(Athanor.commandLine(), "run", "relu", "--in", x, "--device", "emulator")
            .out()
            .lines()
            .toList();
    assertThat(remote.getFirst()).isEqualTo("emulator:0 of " + url());
    assertThat(remote.get(1)).matches("relu: (relu|map)\\S+, [0-9.]+ (µs|ms|s)");
    assertThat(remote.subList(2, 5))
        .isEqualTo(local.subList(3, 6))
        .containsExactly("y f32[2,2]", "[[1 0]", " [3 0]]");
    var file = folder.resolve("y.npy");
    var report = json("run", "relu", "--in", x, "--out", "y=" + file);
    assertThat(report.get("device").get("id").stringValue()).isEqualTo("emulator:0");
    assertThat(report.get("outputs").get(0).get("file").stringValue()).isEqualTo(file.toString());
    assertThat(TensorFile.read(file).toDoubles()).containsExactly(1, 0, 3, 0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          run matmull | run: unknown op "matmull"; did you mean matmul?
          run relu --out z=z.npy | run: --out z: relu has no output "z"
          run relu --plugins . | run: --plugins cannot be combined with --url; the service has its own devices and ops
          run relu --device emulator | run: --device cannot be combined with --url; the service has its own devices and ops
          put /no/such.npy | put: cannot read file /no/such.npy
          put x.npy --lease -1 | put: --lease -1: expected at least 0 seconds
          get ../ops | get: Invalid handle "../ops": handles and names have letters, digits, periods, hyphens and underscores, and start with a letter or digit.
          """)
  void reportsUsageErrors(String line, String sentence) {
    var words = line.split(" ");
    var run = athanor(words[0], Stream.of(words).skip(1).toArray(String[]::new));
    assertThat(run.err()).isEqualTo("athanor " + sentence + System.lineSeparator());
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void reportsInvalidFiles() throws IOException {
    var invalid = Files.writeString(folder.resolve("x.npy"), "no npy").toString();
    assertThat(athanor("put", invalid).err())
        .startsWith("athanor put: %s: ".formatted(invalid))
        .contains("not an npy file");
    var file = safetensors("a/b");
    assertThat(athanor("put", file.toString()).err())
        .startsWith("athanor put: Invalid name \"a/b\": a name has 1 to 128 letters");
    Files.write(file, new byte[1], StandardOpenOption.APPEND);
    assertThat(athanor("put", file.toString()).err())
        .isEqualTo(
            "athanor put: %s: unexpected bytes after the data of the last tensor%n"
                .formatted(file));
  }

  @Test
  void reportsRejectionsByTheService() throws IOException {
    var run = athanor("run", "matmul", "--in", "a=" + matrix());
    assertThat(run.err()).startsWith("athanor run: ").contains("\"b\"").hasLineCount(1);
    assertThat(run.status()).isOne();
    var unknown = "t_89abcdef0123456789abcdef01234567_local";
    var get = athanor("get", unknown);
    assertThat(get.err()).startsWith("athanor get: ").contains(unknown).hasLineCount(1);
    assertThat(get.status()).isOne();
  }

  @ParameterizedTest
  @ValueSource(strings = {"status", "ps", "tensors", "put x.npy", "get w", "rm w", "run relu"})
  void reportsAnUnreachableService(String line) throws IOException {
    int closed;
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      closed = socket.getLocalPort();
    }
    var address = "http://127.0.0.1:" + closed;
    var words = line.replace("x.npy", matrix().toString()).split(" ");
    var arguments = new ArrayList<>(List.of(words));
    arguments.addAll(List.of("--url", address));
    var run = CommandResult.of(Athanor.commandLine(), arguments.toArray(String[]::new));
    assertThat(run.err())
        .startsWith(
            "athanor %s: The service at %s cannot be reached: ".formatted(words[0], address))
        .hasLineCount(1);
    assertThat(run.status()).isOne();
  }

  @Test
  void statusReportsAServiceThatIsNotReady() throws IOException {
    var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/readyz", exchange -> exchange.sendResponseHeaders(503, -1));
    server.start();
    try {
      var address = "http://127.0.0.1:" + server.getAddress().getPort();
      var run = CommandResult.of(Athanor.commandLine(), "status", "--url", address);
      assertThat(run.err())
          .isEqualTo(
              "athanor status: the service at %s is not ready: it is starting or draining, or its device has failed%n"
                  .formatted(address));
      assertThat(run.status()).isOne();
    } finally {
      server.stop(0);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:8080", "grpc://127.0.0.1:9090", "http://a b"})
  void rejectsInvalidUrls(String invalid) {
    var run = CommandResult.of(Athanor.commandLine(), "status", "--url", invalid);
    assertThat(run.err())
        .isEqualTo(
            "athanor status: --url %s: expected a URL such as http://127.0.0.1:8080%n"
                .formatted(invalid));
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void authenticatesWithTheKeyInTheEnvironment() throws Exception {
    var keys = folder.resolve("keys");
    var created =
        CommandResult.of(
            Athanor.commandLine(),
            "api-key",
            "create",
            "--tenant=lab",
            "--scopes=metrics,tensors:read",
            "--file=" + keys);
    try (var service =
        new SpringApplicationBuilder(AthanorApplication.class)
            .run(
                "--athanor.device=emulator",
                "--server.port=0",
                "--spring.grpc.server.port=0",
                "--athanor.security.mode=api-key",
                "--athanor.security.api-keys.file=" + keys)) {
      var address = "http://127.0.0.1:" + service.getEnvironment().getProperty("local.server.port");
      var denied = CommandResult.of(Athanor.commandLine(), "tensors", "--url", address);
      assertThat(denied.err())
          .isEqualTo(
              "athanor tensors: the service requires an API key or a bearer token; set the environment variable ATHANOR_API_KEY%n"
                  .formatted());
      assertThat(denied.status()).isOne();

      var status = process(address, created.out(), "status");
      assertThat(status).contains(" at %s, 0 tensors".formatted(address), "emulator:0");
      assertThat(process(address, "ath_00000000_wrong", "tensors"))
          .startsWith("athanor tensors: the service rejects the credentials in ATHANOR_API_KEY: ");
    }
  }

  /** Runs the program in a process with the URL and the key in its environment. */
  private static String process(String address, String key, String... arguments)
      throws IOException {
    var command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.athanor.cli.Athanor"));
    command.addAll(List.of(arguments));
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(Map.of("ATHANOR_URL", address, "ATHANOR_API_KEY", key));
    var process = builder.start();
    return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  @Test
  void bashCompletesCommandsAndOptions() throws IOException {
    Programs.require("bash", "apt-get install bash");
    var script =
        Files.writeString(
            folder.resolve("completion"),
            CommandResult.of(Athanor.commandLine(), "completion").out());
    var complete =
        "source %s; COMP_WORDS=(athanor %s); COMP_CWORD=%d; _complete_athanor; echo ${COMPREPLY[@]}";
    assertThat(bash(complete.formatted(script, "ten", 1))).isEqualTo("tensors");
    assertThat(bash(complete.formatted(script, "get --u", 2))).isEqualTo("--url");
  }

  private static String bash(String script) throws IOException {
    var process =
        new ProcessBuilder("bash", "-c", script)
            // bash warns that it is not completing a line
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
  }
}
