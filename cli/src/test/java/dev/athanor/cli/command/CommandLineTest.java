package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.athanor.cli.Athanor;
import dev.athanor.cli.argument.TensorFile;
import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Tests the commands of the whole program. */
class CommandLineTest {

  private static final JsonMapper JSON = new JsonMapper();

  @TempDir Path folder;

  private static CommandResult athanor(String... arguments) {
    return CommandResult.of(Athanor.commandLine(), arguments);
  }

  private static JsonNode read(Path file) {
    return JSON.readTree(file.toFile());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "serve",
        "api-key",
        "api-key create",
        "ops",
        "new",
        "ptx",
        "profile",
        "emulate",
        "debug",
        "verify",
        "bench",
        "demo",
        "status",
        "ps",
        "tensors",
        "import",
        "put",
        "get",
        "rm",
        "load",
        "tune",
        "completion",
        "version"
      })
  void everyCommandPrintsHelp(String command) {
    var run = command.isEmpty() ? athanor("--help") : athanor((command + " --help").split(" "));
    assertThat(run.status()).isZero();
    assertThat(run.out()).startsWith("Usage: athanor " + command);
    assertThat(run.err()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          serve --device tpu | athanor serve: --device tpu: expected auto, all, or one or more of emulator, cuda and vulkan, each with an optional number such as cuda:1, separated by commas
          serve --port 70000 | athanor serve: --port 70000: expected a port from 0 to 65535
          serve --grpc-port 70000 | athanor serve: --grpc-port 70000: expected a port from 0 to 65535
          serve --config /no/such.yaml | athanor serve: --config: cannot read file /no/such.yaml
          api-key create --tenant a/b --scopes admin | athanor api-key create: --tenant: a tenant's name must have 1 to 64 letters, digits, dots, hyphens and underscores
          api-key create --tenant lab --scopes ops:run,root | athanor api-key create: --scopes: scopes must be a comma-separated list of ops:run,tensors:read,tensors:write,metrics,priority,admin
          api-key create --tenant lab --scopes admin --file /no/such/keys | athanor api-key create: --file /no/such/keys: cannot append to this file
          serve --plugins /no/such | athanor serve: --plugins: no such folder: /no/such
          serve --weights /no/such | athanor serve: --weights: no such folder: /no/such
          ops --plugins /no/such | athanor ops: --plugins: no such folder: /no/such
          bench --plugins /no/such | athanor bench: --plugins: no such folder: /no/such
          verify --plugins /no/such | athanor verify: --plugins: no such folder: /no/such
          demo --layers 0 | athanor demo: --layers 0: expected 1 to 64
          demo --tokens 1025 | athanor demo: --tokens 1025: expected 1 to 1024
          demo --hidden 100 | athanor demo: --hidden 100: expected a multiple of 32, at most 4096
          demo --device emulator --url http://127.0.0.1:1 | athanor demo: --device and --url exclude each other; a running service has its device
          demo --url tcp://x | athanor demo: --url tcp://x: expected a URL such as http://127.0.0.1:8080
          import /no/such.onnx | athanor import: cannot read file /no/such.onnx
          import ../README.md --input x=2 | athanor import: --input requires --explain
          ptx frob | athanor ptx: unknown op "frob"; athanor ops lists the ops
          ptx matmul --shape a=4 | athanor ptx: input "b" […b, K, N] or […b, N, K] with transposeB is missing; the inputs of matmul are a, b, bias
          ptx matmul --shape a=x | athanor ptx: --shape a=x: expected comma-separated integers, such as 4096,4096
          ptx matmul --shape a=4,4 --dtype a=f12 | athanor ptx: --dtype a=f12: expected one of f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u8, u32, bool, q4_0, q4_1, q5_0, q8_0, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4, nf4
          ptx matmul --dtype a=f16 | athanor ptx: --dtype a=f16: --shape a=… is missing
          ptx matmul --shape a=4,4 --shape b=4,4 --attr alpha=x | athanor ptx: attribute "alpha" must be a finite number, got "x"
          ptx matmul --shape a=4,4 --shape b=4,4 --assemble gpu | athanor ptx: --assemble gpu: "gpu" is not a target; write sm_80 or sm_90a
          ptx matmul --shape a=4,4 --shape b=4,4 --gpu P100 | athanor ptx: --gpu P100: expected one of H200, H100, A100, RTX 4090, L4, RTX 5090, B200, RTX 6000 Ada, RTX 3090, A10, RTX 2080 Ti, T4, V100
          profile frob | athanor profile: unknown op "frob"; athanor ops lists the ops
          profile matmul --shape a=4,4 --shape b=4,4 --gpu P100 | athanor profile: --gpu P100: expected one of H200, H100, A100, RTX 4090, L4, RTX 5090, B200, RTX 6000 Ada, RTX 3090, A10, RTX 2080 Ti, T4, V100
          profile matmul --shape a=4,4 --shape b=4,4 --blocks 0 | athanor profile: --blocks 0: expected at least 1
          profile matmul --shape a=4,4 --shape b=4,4 --kernel x | athanor profile: --kernel x: expected one of matmul_f32_32x32x16_nn_a16_b16_c16, matmul_f32_64x64x16_nn_a16_b16_c16, matmul_f32_naive_nn, matmul_f32_128x64x8_nn_a16_b16_c16
          verify --device tpu | athanor verify: --device tpu: unknown device "tpu"; use auto, emulator, emulator:N, cuda, cuda:N, vulkan or vulkan:N
          verify --device emulator --target ada | athanor verify: --target ada: "ada" is not a target; write sm_80 or sm_90a
          verify --target sm_89 | athanor verify: --target sm_89: "auto" is not an emulator, and only an emulator's target and sanitizer can be chosen; use "emulator"
          verify --sanitize | athanor verify: --sanitize: "auto" is not an emulator, and only an emulator's target and sanitizer can be chosen; use "emulator"
          verify --op frob | athanor verify: --op: unknown op "frob"; athanor ops lists the ops
          verify --suite everything | athanor verify: --suite everything: expected one of ops, isa, all
          verify --case 1 | athanor verify: --case 1: requires exactly one --op
          verify --part 4/3 | athanor verify: --part: "4/3" is not a part; write 3/10 for the third of ten
          verify --seed one | athanor verify: --seed one: expected a whole number
          verify --quick --device emulator --op matmul --case 0 | athanor verify: --case 0: matmul has no case 0; its quick cases are 1 to 57
          verify --json /no/such/folder/x | athanor verify: --json /no/such/folder/x: expected a file in an existing folder
          ops frob | athanor ops: unknown op "frob"; athanor ops lists the ops
          run frob | athanor run: unknown op "frob"; athanor ops lists the ops
          run matmul --in a=/no/such.npy | athanor run: --in a=/no/such.npy: cannot read file /no/such.npy
          run matmul --out d=x.npy | athanor run: --out d: matmul has no output "d"
          run matmul | athanor run: input "a" […a, M, K] or […a, K, M] with transposeA is missing; the inputs of matmul are a, b, bias
          tune matmul --shape a=4,4 | athanor tune: input "b" […b, K, N] or […b, N, K] with transposeB is missing; the inputs of matmul are a, b, bias
          tune matmul --shape a=4,4 --shape b=4,4 --device emulator --repeat 0 | athanor tune: --repeat: warmup and repeat must be at least 1 and the time at least 0, got 1, 0 and 0.0
          bench frob | athanor bench: unknown op "frob"; athanor ops lists the ops
          bench matmul --warmup 1 --repeat 0 | athanor bench: --warmup, --repeat, --min-time: warmup and repeat must be at least 1 and the time at least 0, got 1, 0 and 0.0
          serv | athanor: unknown command "serv"; did you mean serve?
          frob | athanor: unknown command "frob"; athanor --help lists the commands
          api-key | athanor api-key: a command is missing; commands are create
          verify --qick | athanor verify: unknown option --qick; did you mean --quick?
          verify --device=emulator --frob=1 | athanor verify: unknown option --frob; athanor verify --help lists the options
          serve now | athanor serve: unexpected argument "now"; see athanor serve --help
          serve --port | athanor serve: a value is missing: --port PORT
          serve --port http | athanor serve: --port http: expected a whole number
          serve --port 1 --port 2 | athanor serve: --port PORT is given twice; it takes one value
          serve --port 8080 --grpc-port 8080 | athanor serve: --port and --grpc-port are both 8080; use different ports
          serve --bind 192.0.2.1 | athanor serve: --bind 192.0.2.1: not an address of this machine
          bench matmul --min-time long | athanor bench: --min-time long: expected a number
          run matmul --in a.npy | athanor run: --in a.npy: expected INPUT=FILE
          ptx | athanor ptx: OP is missing; see athanor ptx --help
          ptx Saxpy::saxpy | athanor ptx: Saxpy::saxpy: CLASSES is missing; write target/classes Saxpy::saxpy
          ptx matmul --shape a=4,4 --checked | athanor ptx: --checked applies to kernels in Java, and matmul is an op; leave it out
          ptx matmul Saxpy::saxpy | athanor ptx: CLASSES matmul: no such folder or jar
          ptx matmull | athanor ptx: unknown op "matmull"; did you mean matmul?
          ops soft-max | athanor ops: unknown op "soft-max"; did you mean softmax?
          debug --port 70000 | athanor debug: --port 70000: expected a port from 0 to 65535
          debug x.ptx | athanor debug: unexpected argument "x.ptx"; see athanor debug --help
          emulate x.ptx | athanor emulate: --block X[,Y[,Z]] is missing; see athanor emulate --help
          load post | athanor load: unknown scenario "post"; expected put SIZE, get SIZE, put-json N, get-json N, op OP PROBLEM, pipeline FILE, put-grpc SIZE, get-grpc SIZE, op-grpc OP PROBLEM or op-stream OP PROBLEM
          load put | athanor load: "put": expected a size such as 65536, 64KiB or 16MiB, at most 1024MiB
          load op | athanor load: "op": unknown op ""; athanor ops lists the ops
          load get-json --url x | athanor load: "get-json": expected the number of elements, 1 to 99999999
          load pipeline | athanor load: "pipeline": cannot read file ""
          load | athanor load: SCENARIO is missing; see athanor load --help
          bench matmul --baseline torch,mkl | athanor bench: --baseline mkl: expected cublas, torch or loop, or several, separated by commas
          bench matmul --baseline cublas --device emulator | athanor bench: --baseline cublas: cuBLAS requires a CUDA device, got emulator:0
          """)
  void reportsUsageErrorsInOneSentence(String line, String sentence) {
    var run = athanor(line.split(" "));
    assertThat(run.err()).isEqualTo(sentence + System.lineSeparator());
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void acceptsTheEmptyShapeOfANumber() {
    var run =
        athanor(
            "ptx matmul-int8 --gpu T4 --dtype a=i8 --shape a=16,16 --dtype b=i8 --shape b=16,16"
                .concat(" --dtype scale=f32 --shape scale= --attr outDtype=f16")
                .split(" "));
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).contains(".target sm_75");
  }

  @Test
  void printsHelpWithServeFirstIfNoCommandIsGiven() {
    var run = athanor();
    assertThat(run.status()).isZero();
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).isEqualTo(athanor("--help").out());
    assertThat(run.out()).containsPattern("(?m)^Commands:\\R +serve +Starts the service");
  }

  @Test
  void serveReportsAPortInUse() throws IOException {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      int port = taken.getLocalPort();
      for (var option : List.of("--port", "--grpc-port")) {
        var other = option.equals("--port") ? "--grpc-port" : "--port";
        var run = athanor("serve", option, Integer.toString(port), other, "0");
        assertThat(run.err())
            .isEqualTo(
                "athanor serve: port %d is in use; stop the program that uses it or choose another port with %s%n"
                    .formatted(port, option));
        assertThat(run.status()).isEqualTo(1);
      }
    }
  }

  @Test
  void debugReportsAPortInUse() throws IOException {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      int port = taken.getLocalPort();
      var run = athanor("debug", "--port", Integer.toString(port));
      assertThat(run.err())
          .isEqualTo(
              "athanor debug: port %d is in use; stop the program that uses it or choose another port with --port%n"
                  .formatted(port));
      assertThat(run.status()).isEqualTo(1);
    }
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void checkStartsTrainsAndStopsTheService() {
    var run =
        athanor(
            "serve",
            "--check",
            "--train",
            "--device",
            "emulator",
            "--port",
            "0",
            "--grpc-port",
            "0");
    assertThat(run.out()).contains("is starting.", "emulator:0").endsWith("Ready.%n".formatted());
    assertThat(run.err()).doesNotContain("training run");
    assertThat(run.status()).isZero();
  }

  @Test
  void reportsInvalidYamlInOneSentence() throws IOException {
    var file = Files.writeString(folder.resolve("athanor.yaml"), "server: {port: 1\n  x: [");
    var run = athanor("serve", "--config", file.toString());
    assertThat(run.err())
        .startsWith("athanor serve: the configuration is not valid YAML: ")
        .hasLineCount(1);
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void rejectsUnauthenticatedAccessFromOtherMachines() {
    var run = athanor("serve", "--bind", "0.0.0.0", "--port", "0", "--device", "emulator");
    assertThat(run.err())
        .isEqualTo(
            "athanor serve: server.address is 0.0.0.0, spring.grpc.server.address is 0.0.0.0, and athanor.security.mode is none, so anyone"
                + " could call; set the mode to api-key, jwt or mtls, bind to a loopback address, or"
                + " set athanor.security.allow-unauthenticated"
                + System.lineSeparator());
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void printsTheKeyAndItsLineOnce() throws IOException {
    var scopes = List.of("--tenant", "lab", "--scopes", "tensors:read,ops:run");
    var run =
        athanor(
            Stream.concat(Stream.of("api-key", "create"), scopes.stream()).toArray(String[]::new));
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .matches(
            "key:  ath_([0-9a-f]{8})_[A-Za-z0-9_-]{43}\\R"
                + "line: \\1  lab  ops:run,tensors:read  sha256:[0-9a-f]{64}\\R");
    var file = Files.writeString(folder.resolve("keys"), "# a line without an end");
    for (int i = 0; i < 2; i++) {
      var added =
          athanor(
              Stream.of(List.of("api-key", "create"), scopes, List.of("--file", file.toString()))
                  .flatMap(List::stream)
                  .toArray(String[]::new));
      assertThat(added.out()).matches("ath_[0-9a-f]{8}_[A-Za-z0-9_-]{43}\\R");
    }
    assertThat(Files.readAllLines(file).subList(1, 3))
        .allMatch(line -> line.matches("[0-9a-f]{8}  lab  .* {2}sha256:[0-9a-f]{64}"));
  }

  private static CommandResult ptx(String... options) {
    var all = new ArrayList<>(List.of("ptx", "matmul", "--device", "emulator"));
    all.addAll(List.of("--shape", "a=64,64", "--shape", "b=64,64"));
    all.addAll(List.of(options));
    var run = athanor(all.toArray(String[]::new));
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    return run;
  }

  @Test
  void printedPtxParses() {
    var text = ptx().out();
    var kernel = Parser.parse(text, "matmul.ptx").kernels().getFirst();
    assertThat(kernel.name()).isEqualTo("matmul_f32_32x32x16_nn_a16_b16_c16");
    var annotated = ptx("--annotate").out();
    assertThat(annotated).containsPattern("fma.rn.f32 .*// \\w+.java:\\d+ +\\d+ #+");
    assertThat(Parser.parse(annotated, "matmul.ptx").toString()).isEqualTo(text);
  }

  @Test
  void exampleOfTheHelpRuns() {
    var help = athanor("ptx", "--help").out().lines().filter(l -> l.contains("Example: "));
    // picocli breaks long lines
    var example = "ptx matmul --shape a=64,64 --shape b=64,64 --dtype a=f16 --dtype b=f16 --stats";
    assertThat(help)
        .containsSequence("Example: athanor ptx target/classes Saxpy::saxpy")
        .first()
        .asString()
        .contains("athanor ptx matmul --shape a=64,64");
    var run = athanor(example.split(" "));
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .contains("ldmatrix")
        .containsPattern("live registers and \\d+ live predicates,");
  }

  @Test
  void assemblesPtxAndCountsInstructions() {
    var json = JSON.readTree(ptx("--json", "--assemble", "sm_80").out());
    var kernel = json.get("kernels").get(0);
    assertThat(kernel.get("mix").get("fma").asInt()).isGreaterThanOrEqualTo(256);
    assertThat(kernel.get("predicatesLive").asInt()).isBetween(1, 7);
    assertThat(kernel.get("warnings")).isEmpty();
    assertThat(kernel.get("assembled").get(0).get("spillStoreBytes").asInt()).isZero();
    assertThat(kernel.get("assembled").get(0).get("blocksPerMultiprocessor").get("A100").asInt())
        .isPositive();
    assertThat(json.get("explanation").asString()).contains("matmul_f32_64x64x16_nn");
    assertThat(ptx("--explain").out().strip()).isEqualTo(json.get("explanation").asString());
  }

  private static final List<String> LARGE =
      List.of(
          "ptx matmul --shape a=4096,4096 --shape b=4096,4096 --dtype a=f16 --dtype b=f16 --gpu"
              .split(" "));

  private static CommandResult largePtx(String... options) {
    return athanor(Stream.concat(LARGE.stream(), Stream.of(options)).toArray(String[]::new));
  }

  @Test
  void plansPtxForAGpuThatIsNotPresent() {
    var text = largePtx("A100").out();
    assertThat(Parser.parse(text, "matmul.ptx").kernels().getFirst().name())
        .startsWith("matmul_f16_");
    assertThat(text).contains("ldmatrix", "cp.async").doesNotContain("wgmma", "sm_90");
    assertThat(largePtx("a100", "--explain").out()).contains("matmul_f16_");
    // GPU names ignore case and spaces
    assertThat(largePtx("rtx5090").status()).isZero();
  }

  @Test
  void sassReportsTheInnermostLoop() {
    var assembler =
        Programs.require(Assembler.best(), "assembler of PTX", "install a CUDA toolkit").name();
    var run = largePtx("A100", "--sass");
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .containsPattern(
            "^matmul_f16_\\S+: sm_80, (ptxas|nvPTXCompiler) [\\d.]+, \\d+ instructions")
        .contains(JCudaAssembler.note(assembler).orElse("ptxas "))
        .containsPattern("spilled bytes, stored +0\\R")
        .containsPattern("blocks per multiprocessor, A100 +[1-9]")
        .containsPattern("innermost loop 0x\\w{4} to 0x\\w{4}, basic blocks: \\d+, matrix")
        .containsPattern("\\RHMMA +\\d+ +1\\.00\\R");
    var json = JSON.readTree(largePtx("A100", "--sass", "--json").out());
    var code = json.get("kernels").get(0).get("machineCode");
    assertThat(code.get("dynamicSharedBytes").asInt()).isPositive();
    assertThat(code.get("loops").get(0).get("instructions").get("byClass").get("HMMA").asInt())
        .isPositive();
    var other =
        athanor(
            "ptx",
            "matmul",
            "--shape",
            "a=64,64",
            "--shape",
            "b=64,64",
            "--device",
            "emulator",
            "--sass",
            "--assemble",
            "sm_86");
    assertThat(other.out()).contains(": sm_86, ").doesNotContain("assembler ");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          put 2GiB          |                              | "put 2GiB": expected a size such as 65536, 64KiB or 16MiB, at most 1024MiB
          op frob x=f32[4]  |                              | "op frob x=f32[4]": unknown op "frob"; athanor ops lists the ops
          op add a=f32[4]   |                              | "op add a=f32[4]": input "b" […b] is missing; the inputs of add are a, b
          put 1KiB          | --url localhost              | --url localhost: expected a URL such as http://127.0.0.1:8080
          put 1KiB          | --concurrency 0              | --concurrency 0: expected clients such as 4, 1:8 or 1:8:2, from 1 to 9999
          put 1KiB          | --concurrency 8:1            | --concurrency 8:1: the last, 1, is below the first, 8
          put 1KiB          | --rate 5 --concurrency 2     | --concurrency (closed loop) and --rate (open loop) exclude each other; give one
          put 1KiB          | --rate 0                     | --rate 0.0: expected a rate above 0 and at most 1000000 per second
          put 1KiB          | --rate 5 --arrivals late     | --arrivals late: expected constant or poisson
          put 1KiB          | --window 0                   | --window 0.0: expected seconds, above 0 and at most 86400
          put 1KiB          | --warmup -1                  | --warmup -1.0: expected seconds, at least 0 and at most 86400
          put 1KiB          | --trials 2                   | --trials 2: expected at least 3 windows
          put 1KiB          | --stability 0                | --stability 0.0: expected a percentage above 0 and at most 100
          put 1KiB          | --device emulator            | --device requires --self; a running service has its own device
          put 1KiB          | --csv /no/such/folder/x      | --csv /no/such/folder/x: expected a file in an existing folder
          """)
  void rejectsInvalidLoadOptions(String scenario, String options, String sentence) {
    var arguments = new ArrayList<>(List.of("load", scenario));
    if (options != null) {
      arguments.addAll(List.of(options.split(" ")));
    }
    var run = athanor(arguments.toArray(String[]::new));
    assertThat(run.err()).isEqualTo("athanor load: " + sentence + System.lineSeparator());
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void serveReportsAMissingGpu() {
    assumeTrue(CudaDriver.probe() instanceof CudaDriver.Absent, "this machine has a GPU");
    var reason = ((CudaDriver.Absent) CudaDriver.probe()).reason();
    var run = athanor("serve", "--device", "cuda", "--port", "0");
    assertThat(run.err()).isEqualTo("athanor serve: --device cuda: %s%n".formatted(reason));
    assertThat(run.status()).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"verify", "bench"})
  void reportsWhyAGpuIsMissing(String command) {
    assumeTrue(CudaDriver.probe() instanceof CudaDriver.Absent, "this machine has a GPU");
    var reason = ((CudaDriver.Absent) CudaDriver.probe()).reason();
    var run = athanor(command, "--device", "cuda");
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err()).isEqualTo("athanor %s: --device cuda: %s%n".formatted(command, reason));
    assertThat(run.out()).isEmpty();
  }

  @Test
  void printsTheVersionOfTheBuild() {
    var run = athanor("version", "--json");
    assertThat(run.status()).isZero();
    var json = JSON.readTree(run.out());
    assertThat(json.get("version").stringValue()).matches("\\d+\\.\\d+\\.\\d+(-SNAPSHOT)?");
    assertThat(json.get("java").stringValue()).startsWith(Runtime.version().toString());
    assertThat(json.get("os").stringValue()).startsWith(System.getProperty("os.name"));
    var version = "athanor " + json.get("version").stringValue();
    assertThat(athanor("version").out().lines().findFirst()).contains(version);
    assertThat(athanor("--version").out().strip()).isEqualTo(version);
  }

  @Test
  void listsAndDescribesOps() {
    assertThat(athanor("ops").out()).containsPattern("(?m)^matmul +Computes a matrix product");
    var one = athanor("ops", "matmul");
    assertThat(one.status()).isZero();
    assertThat(one.out())
        .contains("c = activation(alpha · a·b + bias)", "(optional)")
        .containsPattern("(?m)^transposeB +boolean +false +whether b is stored as");
  }

  @Test
  void describesOpsInTheServicesJson() {
    var op = JSON.readTree(athanor("ops", "matmul", "--json").out());
    assertThat(op.propertyNames())
        .containsExactly("name", "summary", "inputs", "attributes", "outputs", "formula", "flops");
    var attributes = op.get("attributes");
    assertThat(attributes.get(0).toString())
        .isEqualTo(
            "{\"name\":\"transposeA\",\"type\":\"boolean\",\"required\":false,\"default\":false,"
                + "\"meaning\":\"whether a is stored as […, K, M]\"}");
    assertThat(attributes.get(4).get("default").isNull()).isTrue();
    assertThat(attributes.get(4).get("choices")).hasSize(4);
    assertThat(JSON.readTree(athanor("ops", "--json").out()).get("ops").valueStream())
        .hasSizeGreaterThan(30)
        .contains(op);
  }

  @Test
  void verifiesOnTheEmulatorWithAnotherTarget() throws Exception {
    var json = folder.resolve("verify-ada.json");
    var run =
        athanor(
            "verify --device emulator --target sm_89 --quick --op relu --case 1 --json %s"
                .formatted(json)
                .split(" "));
    assertThat(run.out()).startsWith("emulator:0, ").contains(", sm_89, ");
    assertThat(run.status()).isZero();
    assertThat(read(json).get("device").get("target").stringValue()).isEqualTo("sm_89");
  }

  /** Checks some ops only; the tests of the ops and CI check all. */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void opsAreCorrectOnTheEmulator() throws Exception {
    var ops = List.of("cast", "gemv", "reduce", "softmax");
    var json = folder.resolve("verify.json");
    var markdown = folder.resolve("verify.md");
    var line = new ArrayList<>(List.of("verify", "--device", "emulator", "--quick", "--op"));
    line.addAll(ops);
    line.addAll(List.of("--details", "--json", json.toString(), "--markdown", markdown.toString()));
    var run = athanor(line.toArray(String[]::new));
    assertThat(run.out())
        .startsWith("emulator:0, ")
        .containsPattern("(?m)^gemv +gemv_\\S+ +\\d+ +\\d+\\.\\d% +ok$")
        .doesNotContain("FAILED");
    assertThat(run.status()).isZero();
    var report = read(json);
    assertThat(report.get("ok").booleanValue()).isTrue();
    assertThat(report.get("device").get("id").stringValue()).isEqualTo("emulator:0");
    assertThat(report.get("scope").get("seed").longValue()).isEqualTo(1);
    assertThat(report.get("checks").intValue())
        .isEqualTo(report.get("planned").intValue())
        .isGreaterThan(100);
    assertThat(report.get("failures")).isEmpty();
    int cases = 0;
    for (var variant : report.get("variants")) {
      cases += variant.get("cases").intValue();
      assertThat(variant.get("worst").doubleValue()).isBetween(0.0, 1.0);
      assertThat(variant.get("median").doubleValue())
          .isBetween(0.0, variant.get("worst").doubleValue());
    }
    assertThat(cases).isEqualTo(report.get("checks").intValue());
    assertThat(report.get("variants").valueStream().map(v -> v.get("op").stringValue()).distinct())
        .containsExactlyInAnyOrderElementsOf(ops);
    assertThat(Files.readString(markdown)).contains("| op | kernel |", "| gemv | gemv_");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          a=f32[4,4] | input "b" […b, K, N] or […b, N, K] with transposeB is missing; the inputs of matmul are a, b, bias
          a=f32[4,4] b=f32[4,4] beta=2 | matmul has no attribute "beta"; its attributes are transposeA,
          a=f32[4,x] b=f32[4,4] | "f32[4,x]" is not a tensor type; expected a form such as f16[4096,4096]
          a=f12[4,4] b=f32[4,4] | "f12[4,4]" has an unknown dtype; dtypes are f64,
          a | "a" is neither an input such as a=f16[64,32] nor an attribute such as alpha=2
          """)
  void rejectsInvalidProblems(String problem, String sentence) {
    var run = athanor("bench", "matmul", "--problem", problem);
    assertThat(run.err()).startsWith("athanor bench: --problem: " + sentence);
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void showcaseIsCorrect() {
    var run = athanor("showcase", "--device", "emulator");
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .containsPattern("(?m)^SiLU gate +swiglu .* ok$")
        .containsPattern("(?m)^attention +attention .* ok$")
        .doesNotContain("FAILED");
    assertThat(run.status()).isZero();
    assertThat(run.out().lines())
        .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(100));
  }

  @Test
  void printsOutputsWithoutAFile() throws IOException {
    var x = folder.resolve("x.npy");
    TensorFile.write(x, HostTensor.of(TensorType.of(DType.F32, 2, 3), -1, 2, -3, 4.5, -5, 6));
    var run = athanor("run", "relu", "--in", "x=" + x, "--device", "emulator");
    assertThat(run.err()).isEmpty();
    assertThat(run.out().lines().toList())
        .endsWith("y f32[2,3]", "[[  0   2   0]", " [4.5   0   6]]");
  }

  @Test
  void reportsAnUnwritableFileInOneSentence() throws IOException {
    var full = Path.of("/dev/full"); // fails only when it is written to
    assumeTrue(Files.isWritable(full), "SKIPPED: this machine has no /dev/full");
    var x = folder.resolve("x.npy");
    TensorFile.write(x, HostTensor.of(TensorType.of(DType.F32, 1), 1));
    var run = athanor("run", "relu", "--in", "x=" + x, "--out", "y=" + full);
    assertThat(run.err()).startsWith("athanor run: cannot read or write a file: ").hasLineCount(1);
    assertThat(run.status()).isEqualTo(1);
  }

  @Test
  void runsAnOpOnFiles() throws Exception {
    var a = folder.resolve("a.npy");
    TensorFile.write(a, HostTensor.of(TensorType.of(DType.F32, 2, 2), 1, 2, 3, 4));
    var b = folder.resolve("b.bin");
    Files.write(b, new byte[] {0, 0, (byte) 0x80, 0x3F, 0, 0, 0, 0x40}); // 1 and 2
    var c = folder.resolve("c.npy");
    var run =
        athanor(
            "run",
            "matmul",
            "--in",
            "a=" + a,
            "--in",
            "b=" + b + ":f32[2,1]",
            "--out",
            "c=" + c,
            "--device",
            "emulator");
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .containsPattern("matmul: matmul_f32_\\S+, [0-9.]+ (µs|ms|s)")
        .contains("c f32[2,1], written to " + c);
    assertThat(TensorFile.read(c).toDoubles()).containsExactly(5, 11);
    var refused = athanor("run", "matmul", "--in", "a=" + a, "--in", "b=" + b + ":f32[3,1]");
    assertThat(refused.err())
        .startsWith(
            "athanor run: --in b=%s:f32[3,1]: f32[3, 1] requires 12 bytes, %s has 8"
                .formatted(b, b));
    assertThat(refused.status()).isEqualTo(2);
    var bf16 =
        athanor(
            "run",
            "matmul",
            "--in",
            "a=" + b + ":bf16[2,2]",
            "--in",
            "b=" + b + ":bf16[2,2]",
            "--out",
            "c=" + c,
            "--device",
            "emulator");
    assertThat(bf16.err())
        .startsWith(
            "athanor run: --out c: npy files do not support bf16; without the extension .npy, %s is written as raw bytes"
                .formatted(c));
    assertThat(
            athanor(
                    "run",
                    "matmul",
                    "--in",
                    "a=" + b + ":bf16[2,2]",
                    "--in",
                    "b=" + b + ":bf16[2,2]",
                    "--out",
                    "c=" + folder.resolve("c.bin"),
                    "--device",
                    "emulator",
                    "--json")
                .status())
        .isZero();
    assertThat(Files.size(folder.resolve("c.bin"))).isEqualTo(8);
  }

  @Test
  void cachesTheFastestVariant() throws Exception {
    var cache = folder.resolve("tuning.json");
    var arguments =
        new String[] {
          "tune",
          "matmul",
          "--shape",
          "a=5,6",
          "--shape",
          "b=6,7",
          "--device",
          "emulator",
          "--repeat",
          "1",
          "--cache",
          cache.toString()
        };
    var run = athanor(arguments);
    assertThat(run.out())
        .contains("matmul a=f32[5,6] b=f32[6,7]")
        .containsPattern("(?m)^\\* +matmul_f32_\\S+ .* ok$")
        .contains("kept in " + cache + " for a=f32[8/1,8/2] b=f32[8/2,8/1]");
    assertThat(run.status()).isZero();
    var winner = read(cache).get("winners").get(0);
    assertThat(winner.get("problem").stringValue()).isEqualTo("a=f32[5,6] b=f32[6,7]");
    assertThat(winner.get("kernel").stringValue()).startsWith("matmul_f32_");

    var again =
        athanor(Stream.concat(Stream.of(arguments), Stream.of("--json")).toArray(String[]::new));
    var report = JSON.readTree(again.out());
    assertThat(report.get("variants")).hasSizeGreaterThan(1);
    assertThat(report.get("winner").get("key").get("op").stringValue()).isEqualTo("matmul");
  }

  @Test
  void predictsTimesOnAGpuThatIsNotPresent() throws Exception {
    var json = folder.resolve("predicted.json");
    var run =
        athanor(
            "bench",
            "matmul",
            "softmax",
            "--predict",
            "RTX 4090",
            "--json",
            json.toString(),
            "--problem",
            "a=f16[512,512] b=f16[512,512]");
    assertThat(run.err()).startsWith("athanor bench: --problem requires one op, got 2");
    run =
        athanor(
            "bench",
            "matmul",
            "--predict",
            "RTX 4090",
            "--json",
            json.toString(),
            "--problem",
            "a=f16[512,512] b=f16[512,512]");
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .contains(
            "# Predicted: athanor ", " on RTX 4090", "These are predictions, not measurements.")
        .contains("at 907 GB/s (assumed); the last column refers to the data sheet's 1008 GB/s")
        .contains("| matmul | a=f16[512,512] b=f16[512,512] | matmul_f16_");
    var row = read(json).get("rows").get(0);
    // at most the peak of its tensor cores: 330 TFLOP/s with f32 accumulation
    assertThat(row.get("teraflops").doubleValue()).isBetween(1.0, 340.0);
    assertThat(athanor("bench", "matmul", "--predict", "P100").err())
        .startsWith(
            "athanor bench: --predict P100: expected one of H200, H100, A100, RTX 4090, L4, RTX 5090, B200, RTX 6000 Ada, RTX 3090, A10, RTX 2080 Ti, T4, V100");
  }

  /** A small product takes as long as one launch; three batch dimensions need two launches. */
  @ParameterizedTest
  @CsvSource({
    "'a=f32[8,8] b=f32[8,8]', 2.5",
    "'a=f32[2,1,4,8,8] b=f32[1,3,4,8,8]', 5",
  })
  void everyLaunchTakesTheMinimumTime(String problem, double micros) throws Exception {
    var json = folder.resolve("launches.json");
    athanor(
        "bench", "matmul", "--predict", "H200", "--json", json.toString(), "--problem", problem);
    var row = read(json).get("rows").get(0);
    assertThat(row.get("micros").doubleValue()).isEqualTo(micros);
    assertThat(row.get("limit").stringValue()).isEqualTo("launch (assumed)");
  }

  /** One block per row has too few loads in flight. */
  @Test
  void smallLaunchesAreBoundByLatency() throws Exception {
    var json = folder.resolve("latency.json");
    athanor(
        "bench",
        "rms-norm",
        "--predict",
        "H200",
        "--json",
        json.toString(),
        "--problem",
        "x=f32[1,524288] gamma=f32[524288]");
    var row = read(json).get("rows").get(0);
    assertThat(row.get("limit").stringValue()).isEqualTo("latency (estimate)");
    assertThat(row.get("share").doubleValue()).isLessThan(0.2);
  }

  /** The weights of all products are read once; the tensor cores are the limit. */
  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void broadcastOperandsAreReadOnce() throws Exception {
    var json = folder.resolve("broadcast.json");
    athanor(
        "bench",
        "matmul",
        "--predict",
        "H200",
        "--json",
        json.toString(),
        "--problem",
        "a=f16[32,128,1024] b=f16[1024,1024]");
    var row = read(json).get("rows").get(0);
    assertThat(row.get("limit").stringValue()).isNotEqualTo("dram");
    assertThat(row.get("share").doubleValue()).isLessThan(0.5);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void predictsTimesOnEveryGpu() {
    for (var gpu : Gpu.ALL) {
      var run =
          athanor(
              "bench", "matmul", "--predict", gpu.name(), "--problem", "a=f16[64,64] b=f16[64,64]");
      assertThat(run.status()).as(run.err()).isZero();
      assertThat(run.out())
          .contains(" on " + gpu.name())
          .containsPattern(
              "\\| matmul \\| a=f16\\[64,64\\] b=f16\\[64,64\\] \\| matmul_f16_\\S+ \\| [\\d.]+ µs \\|");
    }
  }

  @Test
  void problemsRequireOneOp() {
    var run = athanor("bench", "matmul", "matmul", "--problem", "a=f32[4,4] b=f32[4,4]");
    assertThat(run.err()).startsWith("athanor bench: --problem requires one op, got 2");
  }

  /** With or without PyTorch, the run completes and reports a missing baseline. */
  @Test
  void reportsAMissingBaselineWithoutFailing() throws Exception {
    var json = folder.resolve("bench.json");
    var run =
        athanor(
            "bench",
            "matmul",
            "--device",
            "emulator",
            "--baseline",
            "torch",
            "--problem",
            "a=f32[4,4] b=f32[4,4]",
            "--repeat",
            "1",
            "--json",
            json.toString());
    assertThat(run.status()).isZero();
    assertThat(run.out()).containsPattern("torch +ratio").contains("ok: 1 rows, 0 failed");
    var library = read(json).get("baselines").get(0);
    assertThat(library.get("library").asString()).isEqualTo("torch");
    var theirs = read(json).get("rows").get(0).get("baselines");
    if (library.get("missing").isNull()) {
      assertThat(library.get("name").asString()).startsWith("PyTorch ");
      assertThat(theirs.get(0).get("micros").get("median").doubleValue()).isPositive();
    } else {
      assertThat(library.get("missing").asString()).endsWith("that ATHANOR_PYTHON names");
      assertThat(run.out()).contains("NOT MEASURED torch: " + library.get("missing").asString());
      assertThat(theirs).isEmpty();
    }
  }

  @Test
  void benchMeasuresProductsOnTheEmulator() throws Exception {
    var json = folder.resolve("bench.json");
    var markdown = folder.resolve("bench.md");
    var run =
        athanor(
            "bench",
            "matmul",
            "--device",
            "emulator",
            "--problem",
            "a=f32[5,7] b=f32[6,7] transposeB=true",
            "--problem",
            "b=f16[8,8] a=f16[8,8]",
            "--repeat",
            "2",
            "--json",
            json.toString(),
            "--markdown",
            markdown.toString());
    assertThat(run.out())
        .containsPattern(
            "(?m)^matmul +a=f32\\[5,7] b=f32\\[6,7] transposeB=true +matmul_f32_\\S+ .* ok$")
        .contains("ok: 2 rows, 0 failed");
    assertThat(run.status()).isZero();
    var report = read(json);
    assertThat(report.get("ok").booleanValue()).isTrue();
    assertThat(report.get("rows")).hasSize(2);
    var row = report.get("rows").get(0);
    assertThat(row.get("micros").get("median").doubleValue()).isPositive();
    assertThat(row.get("micros").get("count").intValue()).isEqualTo(2);
    assertThat(row.get("teraflops").doubleValue())
        .isEqualTo(2 * 5 * 6 * 7 / row.get("micros").get("median").doubleValue() / 1e6);
    assertThat(row.get("baselines")).isEmpty();
    assertThat(Files.readString(markdown))
        .contains("| matmul | a=f16[8,8] b=f16[8,8] | matmul_f16_");
  }
}
