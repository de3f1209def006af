package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.Athanor;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Npy;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;

/** Tests {@code athanor emulate}. */
class EmulateCommandTest {

  private static final String SAXPY =
      """
      .version 7.8
      .target sm_80
      .address_size 64
      .visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
      {
        .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
        ld.param.u32 %r0, [n]; ld.param.f32 %f0, [a];
        ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, [y];
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
        mad.lo.s32 %r4, %r1, %r2, %r3;
        setp.ge.s32 %p, %r4, %r0;
        @%p bra $end;
        mul.wide.s32 %rd2, %r4, 4; add.s64 %rd0, %rd0, %rd2; add.s64 %rd1, %rd1, %rd2;
        ld.global.f32 %f1, [%rd0]; ld.global.f32 %f2, [%rd1];
        fma.rn.f32 %f2, %f0, %f1, %f2;
        st.global.f32 [%rd1], %f2;
        $end: ret;
      }
      """;

  @TempDir Path folder;

  @BeforeEach
  void files() throws IOException {
    Files.writeString(folder.resolve("saxpy.ptx"), SAXPY);
    var type = new TensorType(DType.F32, Shape.of(100));
    var x = new double[100];
    var y = new double[100];
    Arrays.setAll(x, i -> i);
    Arrays.setAll(y, i -> 1000 - i);
    save("x.npy", HostTensor.of(type, x));
    save("y.npy", HostTensor.of(type, y));
  }

  private void save(String name, HostTensor tensor) throws IOException {
    try (var out = Files.newOutputStream(folder.resolve(name))) {
      out.write(Npy.header(tensor.type()).orElseThrow());
      out.write(tensor.data().toArray(ValueLayout.JAVA_BYTE));
    }
  }

  private HostTensor read(String name) throws IOException {
    try (var in = Files.newInputStream(folder.resolve(name))) {
      return Npy.open(ByteSource.of(in), DecodeBudget.onHeap(1 << 20), name).toTensor();
    }
  }

  /** Runs a command line whose file names are relative to the folder. */
  private CommandResult emulate(String line) {
    var words = new ArrayList<String>(List.of("emulate"));
    for (var word : line.split(" ", -1)) {
      words.add(word.replaceFirst("(\\w+\\.(npy|ptx|bin))", folder + "/$1"));
    }
    return CommandResult.of(Athanor.commandLine(), words.toArray(String[]::new));
  }

  private static String example() {
    var help =
        CommandResult.of(Athanor.commandLine(), "emulate", "--help").out().replaceAll("\\s+", " ");
    int start = help.indexOf("Example: athanor emulate ") + "Example: athanor emulate ".length();
    return help.substring(start, help.indexOf("inout:y.npy", start) + "inout:y.npy".length());
  }

  private static final String TILE =
      """
      .version 8.0
      .target sm_90a
      .address_size 64
      .visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out)
      {
        .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f;
        .shared .align 128 .b8 tile[128];
        .shared .align 8 .b64 full;
        mov.u32 %r0, %tid.x; mov.u32 %r1, full; mov.u32 %r2, tile;
        setp.ne.u32 %p0, %r0, 0;
        @%p0 bra $wait;
        mbarrier.init.shared::cta.b64 [%r1], 1;
        fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128;
        mov.b64 %rd0, map;
        cvta.param.u64 %rd0, %rd0;
        mov.u32 %r3, 0; mov.u32 %r4, 4;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
          [%r2], [%rd0, {%r3, %r4}], [%r1];
        $wait:
        bar.sync 0;
        $again:
        mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
        @!%p1 bra $again;
        shl.b32 %r5, %r0, 2; add.u32 %r6, %r2, %r5;
        ld.shared.f32 %f, [%r6];
        ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd1, %rd2;
        st.global.f32 [%rd1], %f;
        ret;
      }
      """;

  /** The tile has four rows of eight, from row 4 of a matrix with six rows. */
  @ParameterizedTest
  @CsvSource({"'', 0", ":fill=nan, NaN"})
  void tensorMapsCopyTiles(String fill, Double beyond) throws IOException {
    Files.writeString(folder.resolve("tile.ptx"), TILE);
    var values = new double[48];
    Arrays.setAll(values, i -> i);
    save("m.npy", HostTensor.of(new TensorType(DType.F32, Shape.of(6, 8)), values));
    for (var timing : List.of("eager", "lazy", "random", "reordered")) {
      var run =
          emulate(
              "tile.ptx --block 32 --arg tensormap:4,8%s:in:m.npy --arg out:t.npy:f32:4,8 --timing %s"
                  .formatted(fill, timing));
      assertThat(run.status()).as(run.err()).isZero();
      var tile = read("t.npy").toDoubles();
      assertThat(tile[0]).isEqualTo(32);
      assertThat(tile[15]).isEqualTo(47);
      assertThat(tile[16]).isEqualTo(beyond);
    }
  }

  @Test
  void printsAProfile() {
    var run = emulate(example() + " --profile --gpu A100");
    assertThat(run.status()).as(run.err()).isZero();
    assertThat(run.out())
        .contains("saxpy ran as")
        .containsPattern("Lower bound on A100: [0-9.]+ µs")
        .containsPattern("(?m)^fma +4 ");
    var json = emulate(example() + " --profile --json");
    var profile = new JsonMapper().readTree(json.out()).get("profile");
    assertThat(profile.get("mix").get("fma").intValue()).isEqualTo(4);
    assertThat(emulate(example() + " --gpu Voodoo").err())
        .contains("--gpu Voodoo: expected one of H200, ");
  }

  @Test
  void exampleOfTheHelpRuns() throws IOException {
    var run = emulate(example());
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .startsWith("saxpy ran as 2x1x1 blocks of 64x1x1 threads in ")
        .contains("wrote f32[100] to " + folder.resolve("y.npy"));
    var y = read("y.npy");
    for (int i = 0; i < 100; i++) {
      assertThat(y.get(i)).isEqualTo(2.5 * i + 1000 - i);
    }
  }

  @Test
  void writesNewFilesAndPrintsJson() throws IOException {
    var run =
        emulate(
            "saxpy.ptx --block 64 --grid 2 --arg s32:64 --arg f32:0.5 --arg in:x.npy"
                + " --arg out:new.npy:f32:10,10 --schedule random --seed 3 --timing eager --json");
    assertThat(run.err()).isEmpty();
    var result = JsonMapper.shared().readTree(run.out());
    assertThat(result.get("kernel").asString()).isEqualTo("saxpy");
    assertThat(result.get("block").asString()).isEqualTo("64x1x1");
    assertThat(result.get("outputs").get(0).get("type").asString()).isEqualTo("f32[10, 10]");
    assertThat(result.get("faults")).isEmpty();
    var made = read("new.npy");
    assertThat(made.get(63)).isEqualTo(31.5);
    assertThat(made.get(64)).isZero();
  }

  @Test
  void reportsAFaultWithThreadAndLine() {
    var run =
        emulate("saxpy.ptx --block 32 --arg u32:100 --arg f32:1 --arg in:x.npy --arg zeros:64");
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .startsWith("report: OUT_OF_BOUNDS: ")
        .contains("thread (16,0,0) of block (0,0,0) of kernel saxpy")
        .contains("saxpy.ptx:14:")
        .contains("touches bytes 64..67 of a buffer of 64 bytes");
  }

  @Test
  void stopsAnEndlessKernelAtTheTimeout() throws IOException {
    Files.writeString(
        folder.resolve("endless.ptx"),
        """
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry endless(.param .u64 out) {
        .reg .b64 %rd<2>; .reg .b32 %r0;
        ld.param.u64 %rd0, [out];
        $ever: add.u64 %rd1, %rd1, 1; st.global.u64 [%rd0], %rd1; bra $ever;
        }
        """
            .replace("$ever:", "mov.u64 %rd1, 0;\n$ever:"));
    var run = emulate("endless.ptx --block 32 --timeout 0.05 --arg zeros:8");
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.out())
        .startsWith("report: TIMEOUT: ")
        .contains("thread (0,0,0) of block (0,0,0) of kernel endless")
        .contains("exceeds the timeout of the launch, 0.05 s");
  }

  /** Two blocks write their block indices to the same word. */
  private void saveRace() throws IOException {
    Files.writeString(
        folder.resolve("race.ptx"),
        """
        .version 7.8
        .target sm_80
        .address_size 64
        .visible .entry race(.param .u64 out)
        {
          .reg .b32 %r<2>; .reg .b64 %rd<2>;
          ld.param.u64 %rd0, [out];
          mov.u32 %r0, %ctaid.x;
          st.global.u32 [%rd0], %r0;
          ret;
        }
        """);
  }

  @Test
  void reportsARaceOnlyWithTheSanitizer() throws IOException {
    saveRace();
    var line = "race.ptx --grid 2 --block 1 --arg zeros:4";
    assertThat(emulate(line).status()).isZero();
    var run = emulate(line + " --sanitize");
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.err()).isEmpty();
    assertThat(run.out().lines())
        .isNotEmpty()
        .allMatch(finding -> finding.matches("report: [A-Z_]+: .+"));
    assertThat(run.out())
        .startsWith("report: RACE_IN_GRID: thread (0,0,0) of block")
        .contains("writes bytes 0..3 of a buffer of 4 bytes at 0x")
        .contains("race.ptx:9:3")
        .contains("nothing orders the two; atomic instructions, or a release after the one");
    assertThat(emulate(example() + " --sanitize").status()).isZero();
  }

  /** Kernel output may end without a newline; findings start on a new line. */
  @Test
  void reportsStartOnANewLineAfterKernelOutput() throws IOException {
    var text = PRINTING.replace("100, 10, 0}", "100, 32, 0}").replace("ret;", "trap;");
    Files.writeString(folder.resolve("hello.ptx"), text);
    var run = emulate("hello.ptx --block 1 --sanitize");
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.out().lines().toList().getFirst()).startsWith("block 0");
    assertThat(run.out().lines().filter(each -> each.startsWith("report: TRAP: "))).hasSize(1);
  }

  /** As paths of Windows have after the drive. */
  @Test
  void namesOfWrittenFilesMayHaveColons() throws IOException {
    var run =
        emulate(
            "saxpy.ptx --block 64 --arg s32:64 --arg f32:0.5 --arg in:x.npy"
                + " --arg out:new.npy:c.npy:f32:10,10");
    assertThat(run.err()).isEmpty();
    assertThat(folder.resolve("new.npy:c.npy")).exists();
  }

  @Test
  void writesNoFilesIfThereAreFindings() throws IOException {
    saveRace();
    var run = emulate("race.ptx --grid 2 --block 1 --arg out:new.npy:u32:1 --sanitize");
    assertThat(run.status()).isEqualTo(1);
    assertThat(folder.resolve("new.npy")).doesNotExist();
  }

  @Test
  void ignoresKindsOfFindings() throws IOException {
    saveRace();
    var line = "race.ptx --grid 2 --block 1 --arg zeros:4 --sanitize --ignore ";
    assertThat(emulate(line + "PROXY_FENCE,RACE_IN_GRID").status()).isZero();
    assertThat(emulate(line + "PROXY_FENCE").status()).isEqualTo(1);
    var unknown = emulate(line + "RACE_IN_GRID,RACES");
    assertThat(unknown.status()).isEqualTo(2);
    assertThat(unknown.err())
        .startsWith("athanor emulate: --ignore RACES: expected one of OUT_OF_BOUNDS, MISALIGNED, ")
        .contains(", PROXY_FENCE, TENSOR_MAP_FENCE, ");
  }

  @Test
  void jsonOfARaceHasItsKindAndBothAccesses() throws IOException {
    saveRace();
    var run = emulate("race.ptx --grid 2 --block 1 --arg zeros:4 --sanitize --json");
    assertThat(run.status()).isEqualTo(1);
    var result = JsonMapper.shared().readTree(run.out());
    assertThat(result.get("faults")).hasSize(1);
    var finding = result.get("findings").get(0);
    assertThat(finding.get("kind").asString()).isEqualTo("RACE_IN_GRID");
    assertThat(finding.get("place").get("source").get("line").asInt()).isEqualTo(9);
    assertThat(finding.get("other").get("source").get("line").asInt()).isEqualTo(9);
    assertThat(
            finding.get("place").get("block").get("x").asInt()
                + finding.get("other").get("block").get("x").asInt())
        .isEqualTo(1);
    assertThat(finding.get("remedy").asString()).endsWith("would order them");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          none.ptx --block 1 | cannot read file @/none.ptx
          saxpy.ptx --block 0 | --block 0: expected one to three numbers, such as 16,16
          saxpy.ptx --block 1 --kernel daxpy | --kernel daxpy: the file has saxpy
          saxpy.ptx --block 1 --target x | --target: "x" is not a target; write sm_80 or sm_90a
          saxpy.ptx --block 1 --timeout 0 | --timeout 0: expected a number of seconds above 0 and at most 1000000
          saxpy.ptx --block 1 --timeout x | --timeout x: expected a number of seconds above 0 and at most 1000000
          saxpy.ptx --block 1 --timeout 1e9 | --timeout 1e9: expected a number of seconds above 0 and at most 1000000
          saxpy.ptx --block 1 --schedule no | --schedule no: expected one of converging, ahead-first, one-by-one, random, apart
          saxpy.ptx --block 1 --ignore PROXY_FENCE | --ignore PROXY_FENCE: requires --sanitize
          saxpy.ptx --block 1 --arg u8:256 | --arg u8:256: "256" is not a number of type u8
          saxpy.ptx --block 1 --arg s8:-129 | --arg s8:-129: "-129" is not a number of type s8
          saxpy.ptx --block 1 --arg frob | --arg frob: expected TYPE:VALUE (f32:3.5, u32:7), in:FILE.npy, out:FILE.npy:DTYPE:SHAPE, inout:FILE.npy, zeros:BYTES, bytes:FILE or tensormap:BOX:… of in, out or inout
          saxpy.ptx --block 1 --arg in:none.npy | --arg in:@/none.npy: cannot read the file
          saxpy.ptx --block 1 --arg out:new.npy | --arg out:@/new.npy: expected out:FILE.npy:DTYPE:SHAPE
          saxpy.ptx --block 1 --arg out:new.npy:bf16:4 | --arg out:@/new.npy:bf16:4: npy files do not support bf16
          saxpy.ptx --block 1 --arg tensormap:4,4:zeros:64 | --arg tensormap:4,4:zeros:64: expected tensormap:BOX:swizzle=128:fill=nan:in:FILE.npy, with optional swizzle and fill, and in, out or inout
          saxpy.ptx --block 1 --arg tensormap:4,4:swizzle=7:in:x.npy | --arg tensormap:4,4:swizzle=7:in:@/x.npy: swizzle must be none, 32, 64 or 128, fill must be zero or nan; other options are unknown
          saxpy.ptx --block 1 --arg tensormap:3:in:x.npy | --arg tensormap:3:in:@/x.npy: a tensor map has rows of a multiple of 16 bytes in its box, got 12
          saxpy.ptx --block 1 --arg zeros:x | --arg zeros:x: a size must be comma-separated integers, such as 64,64
          saxpy.ptx --block 1 --arg in:saxpy.ptx | --arg in:@/saxpy.ptx: the body is not an npy file: it does not begin with \\x93NUMPY
          saxpy.ptx --block 1 | cannot launch saxpy: got 0 arguments; the kernel takes 4
          """)
  void reportsUsageErrorsInOneSentence(String line, String sentence) {
    var run = emulate(line);
    assertThat(run.err().strip())
        .isEqualTo(
            "athanor emulate: " + sentence.replace("@", folder.toString()).replace("\\\\", "\\"));
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void reportsPtxSyntaxErrorsWithTheirPosition() throws IOException {
    Files.writeString(folder.resolve("bad.ptx"), SAXPY.replace("fma.rn.f32", "fma.f32"));
    var run = emulate("bad.ptx --block 1");
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err()).contains("bad.ptx:15:").contains("fma");
  }

  private static final String PRINTING =
      """
      .version 7.8
      .target sm_80
      .address_size 64
      .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
      .extern .func (.param .b64 r) malloc(.param .b64 n);
      .global .align 1 .b8 line[10] = {98, 108, 111, 99, 107, 32, 37, 100, 10, 0};
      .visible .entry hello()
      {
        .local .align 8 .b8 values[8];
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        mov.u32 %r0, %ctaid.x;
        mov.u64 %rd0, values; st.local.u32 [%rd0], %r0; cvta.local.u64 %rd0, %rd0;
        mov.u64 %rd1, line;
        call (%r1), vprintf, (%rd1, %rd0);
        call (%rd2), malloc, (24);
        ret;
      }
      """;

  @Test
  void showsKernelOutput() throws IOException {
    Files.writeString(folder.resolve("hello.ptx"), PRINTING);
    var run = emulate("hello.ptx --grid 3 --block 1");
    assertThat(run.status()).isZero();
    assertThat(run.out()).startsWith("block 0\nblock 1\nblock 2\nhello ran as 3x1x1 blocks");
    var leaky = emulate("hello.ptx --grid 2 --block 1 --sanitize --json");
    assertThat(leaky.status()).isZero();
    assertThat(JsonMapper.shared().readTree(leaky.out()).get("printed").asString())
        .startsWith("block 0\nblock 1\ndevice heap: 2 blocks of 48 bytes in all were never freed;");
  }
}
