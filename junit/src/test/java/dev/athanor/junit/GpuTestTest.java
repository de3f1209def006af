package dev.athanor.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.cuda.driver.CudaDriver.Absent;
import dev.athanor.testing.Programs;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class GpuTestTest {
  private static final String JAVA = "src/test/java/dev/athanor/junit/SampleKernels.java";
  private static final String PTX = "src/test/resources/dev/athanor/junit/reverse.ptx";
  private static final String CUDA = "src/test/resources/dev/athanor/junit/reverse.cu";

  private static final String RACE =
      """
      1 finding on sm_90a CONVERGING LAZY:
      RACE_IN_BLOCK: thread (0,0,0) of block (0,0,0) of kernel reverse, "ld.shared.u32 %r6, [%r5]" at reverse.ptx:22:3: lane 0 of warp 0 reads bytes 252..255 of tile, which lane 31 of warp 1, thread (63,0,0) of the same block, "st.shared.u32 [%r4], %r1" at reverse.ptx:19:3, writes, and nothing orders the two; a barrier of the block between the two would order them (64 times)\
      """;

  @TempDir Path directory;
  private Path sarif;

  @BeforeEach
  void chooseFile() {
    sarif = directory.resolve("reports/kernels.sarif");
  }

  private EngineExecutionResults run(DiscoverySelector selector) {
    return EngineTestKit.engine("junit-jupiter")
        .configurationParameter(GpuTest.SARIF, sarif.toString())
        .selectors(selector)
        .execute();
  }

  private EngineExecutionResults run(Class<?> test) {
    return run(selectClass(test));
  }

  private static List<String> failures(EngineExecutionResults results) {
    return results.allEvents().failed().stream()
        .map(event -> event.getRequiredPayload(TestExecutionResult.class))
        .map(result -> String.valueOf(result.getThrowable().orElseThrow().getMessage()))
        .toList();
  }

  private static List<String> invocations(EngineExecutionResults results) {
    return results.testEvents().started().stream()
        .map(event -> event.getTestDescriptor().getDisplayName())
        .toList();
  }

  private JsonNode log() {
    return JsonMapper.builder().build().readTree(sarif);
  }

  private JsonNode results() {
    return log().at("/runs/0/results");
  }

  private static String position(JsonNode location) {
    return location.at("/physicalLocation/artifactLocation/uri").asString()
        + ":"
        + location.at("/physicalLocation/region/startLine").asInt();
  }

  private static void requireNvcc() {
    Programs.require("nvcc", "install a CUDA toolkit");
  }

  @Test
  void runsOncePerTargetScheduleAndTiming() {
    boolean hasGpu = !(CudaDriver.probe() instanceof Absent);
    var results = run(Fixtures.Right.class);
    results.testEvents().assertStatistics(s -> s.succeeded(hasGpu ? 13 : 12).failed(0));
    assertThat(invocations(results).subList(4, 7))
        .containsExactly(
            "[5] sm_80 RANDOM LAZY seed 1",
            "[6] sm_80 RANDOM EAGER seed 1",
            "[7] sm_90a CONVERGING LAZY");
  }

  @Test
  void skipsTheGpuWithAReason() {
    assumeThat(CudaDriver.probe()).isInstanceOf(Absent.class);
    var skipped = run(Fixtures.Right.class).testEvents().skipped().list();
    assertThat(skipped)
        .singleElement()
        .extracting(Event::getPayload)
        .asString()
        .contains("no GPU: " + ((Absent) CudaDriver.probe()).reason());
  }

  @Test
  void runsWithoutFindingsWriteAnEmptyLog() {
    run(Fixtures.Right.class);
    assertThat(log().get("version").asString()).isEqualTo("2.1.0");
    assertThat(log().at("/runs/0/tool/driver/name").asString()).isEqualTo("Athanor");
    assertThat(results().isArray()).isTrue();
    assertThat(results()).isEmpty();
  }

  @Test
  void seedsApplyToRandomSchedulesOnly() {
    assertThat(invocations(run(Fixtures.Configured.class)))
        .containsExactly(
            "[1] sm_90a AHEAD_FIRST LAZY",
            "[2] sm_90a APART LAZY seed 3",
            "[3] sm_90a APART LAZY seed 4");
    assertThat(Fixtures.Configured.SEEN).doesNotHaveDuplicates();
  }

  @Test
  void constructorsShareTheDevice() {
    run(Fixtures.Constructed.class).testEvents().assertStatistics(s -> s.succeeded(6).failed(0));
  }

  @Test
  void racesFailWithTheirText() {
    assertThat(
            failures(
                run(
                    selectMethod(
                        Fixtures.Mixed.Inner.class, "race", "dev.athanor.junit.Launcher"))))
        .containsExactly(RACE.replace("\n", System.lineSeparator()));
  }

  @Test
  void findingsBeforeATestFailIt() {
    assertThat(failures(run(Fixtures.RacyBefore.class)))
        .containsExactly(RACE.replace("\n", System.lineSeparator()));
    assertThat(results()).hasSize(1);
  }

  @Test
  void writesRacesAsSarif() {
    run(selectMethod(Fixtures.Racy.class, "java", "dev.athanor.engine.device.Device"));
    assertThat(log().get("$schema").asString()).endsWith("sarif-2.1.0.json");
    var rule = log().at("/runs/0/tool/driver/rules/0");
    assertThat(rule.get("id").asString()).isEqualTo("RACE_IN_BLOCK");
    for (var member : List.of("shortDescription", "fullDescription", "help")) {
      assertThat(rule.get(member).get("text").asString())
          .isEqualTo("A race between warps of a block, without a barrier.");
    }
    // both schedules report the race, from different sides
    assertThat(results()).hasSize(2);
    var race = results().get(0);
    assertThat(race.get("ruleId").asString()).isEqualTo("RACE_IN_BLOCK");
    assertThat(race.get("ruleIndex").asInt()).isZero();
    assertThat(race.get("level").asString()).isEqualTo("error");
    assertThat(race.get("occurrenceCount").asInt()).isEqualTo(2);
    assertThat(race.at("/message/text").asString())
        .contains("at SampleKernels.java:28: lane 0 of warp 0 reads bytes 252..255 of shared0")
        .endsWith("(test dev.athanor.junit.Fixtures$Racy#java on sm_90a CONVERGING LAZY)");
    assertThat(race.get("locations")).hasSize(1);
    assertThat(position(race.at("/locations/0"))).endsWith(JAVA + ":28").doesNotStartWith("/");
    assertThat(race.get("relatedLocations")).hasSize(2);
    assertThat(position(race.at("/relatedLocations/0"))).endsWith(JAVA + ":28");
    assertThat(position(race.at("/relatedLocations/1"))).endsWith(JAVA + ":27");
    assertThat(race.at("/relatedLocations/1/id").asInt()).isEqualTo(2);
    assertThat(race.at("/relatedLocations/1/message/text").asString())
        .isEqualTo(
            "thread (63,0,0) of block (0,0,0) of kernel reverse, \"st.shared.s32 [%r4], %r3\" at SampleKernels.java:27");
    assertThat(race.get("properties").toString())
        .isEqualTo(
            """
            {"test":"dev.athanor.junit.Fixtures$Racy#java","schedule":"CONVERGING","seed":1,"target":"sm_90a","timing":"LAZY"}\
            """);
    assertThat(results().get(1).get("ruleId").asString()).isEqualTo("UNINITIALISED");
    assertThat(results().get(1).get("ruleIndex").asInt()).isEqualTo(1);
  }

  @Test
  void reportsRacesOfPtxWithLinesAndSeed() {
    run(selectMethod(Fixtures.Racy.class, "ptx", "dev.athanor.junit.Launcher"));
    var race = results().get(0);
    assertThat(position(race.at("/locations/0"))).endsWith(PTX + ":19");
    assertThat(race.at("/locations/0/physicalLocation/region/startColumn").asInt()).isEqualTo(3);
    assertThat(position(race.at("/relatedLocations/1"))).endsWith(PTX + ":22");
    assertThat(race.at("/properties/seed").asInt()).isEqualTo(5);
    assertThat(race.at("/properties/schedule").asString()).isEqualTo("RANDOM");
  }

  @Test
  void reportsRacesOfCudaWithSourceLines() {
    requireNvcc();
    run(Fixtures.RacyCuda.class);
    assertThat(position(results().at("/0/locations/0"))).endsWith(CUDA + ":5");
    assertThat(position(results().at("/0/relatedLocations/1"))).endsWith(CUDA + ":4");
  }

  @Test
  void reportsIndicesOutOfBounds() {
    assertThat(failures(run(Fixtures.OutOfBounds.class)))
        .containsExactly(
            """
            1 finding on sm_90a CONVERGING LAZY:
            CHECK_FAILED: SampleKernels.java:34: index 64 is out of bounds for `data`, which has 64 elements, in thread (63, 0, 0) of block (0, 0, 0) of shift\
            """
                .replace("\n", System.lineSeparator()));
    assertThat(results().at("/0/ruleId").asString()).isEqualTo("CHECK_FAILED");
    assertThat(position(results().at("/0/locations/0"))).endsWith(JAVA + ":34");
  }

  @Test
  void caughtFindingsDoNotFailTheTest() {
    assertThat(failures(run(Fixtures.Caught.class))).isEmpty();
    assertThat(results()).isEmpty();
  }

  @Test
  void namesInvalidAttributes() {
    assertThat(failures(run(Fixtures.UnknownTarget.class)))
        .containsExactlyInAnyOrder(
            "`targets` of @GpuTest on dev.athanor.junit.Fixtures$UnknownTarget#unknown: \"sm_9x\" is not a target; write sm_80 or sm_90a",
            "`seeds` of @GpuTest on dev.athanor.junit.Fixtures$UnknownTarget#noSeeds is empty; give at least one");
  }

  @Test
  void namesTheTargetThatAKernelNeeds() {
    assertThat(failures(run(Fixtures.NewerTarget.class)))
        .containsExactly(
            """
            kernel first could not be loaded: it is for sm_90a, the device is sm_80
            This invocation runs on sm_80 CONVERGING LAZY; `targets` of @GpuTest lists the emulated targets.\
            """
                .replace("\n", System.lineSeparator()));
  }

  @Test
  void runsPtxAndAuthoredKernels() {
    run(Fixtures.RightPtx.class).testEvents().assertStatistics(s -> s.started(12).succeeded(12));
  }

  @Test
  void runsCuda() {
    requireNvcc();
    run(Fixtures.RightCuda.class).testEvents().assertStatistics(s -> s.started(12).succeeded(12));
  }

  @Test
  void reportsErrorsOfNvcc() {
    requireNvcc();
    assertThat(failures(run(Fixtures.InvalidCuda.class)))
        .singleElement()
        .asString()
        .startsWith("nvcc cannot compile invalid.cu for sm_90a:" + System.lineSeparator())
        .contains("identifier \"missing\" is undefined");
  }

  @Test
  void findsNoCompilerOnAnEmptyPath() {
    assertThat(Nvcc.find("")).isEmpty();
    assertThat(Nvcc.find(directory.toString())).isEmpty();
  }

  @Test
  void rejectsInvalidLaunches() {
    run(Fixtures.InvalidLaunches.class);
    assertThat(Fixtures.MESSAGES)
        .containsExactly(
            "resource \"missing.ptx\" not found next to dev.athanor.junit.Fixtures$InvalidLaunches; put it into src/test/resources/dev/athanor/junit",
            "two.ptx has the kernels first, second; name one of them",
            "two.ptx has the kernels first, second; got \"third\"",
            "first has 2 parameters, got 1 arguments",
            "n is .u64, got String; pass a number, an array of numbers, a MemorySegment, a Buffer or an Argument",
            "n is .u64, got null; pass a number, an array of numbers, a MemorySegment, a Buffer or an Argument");
  }

  @Test
  void testsOfOtherExtensionsRun() {
    run(Fixtures.Mixed.class).testEvents().assertStatistics(s -> s.succeeded(1).failed(1));
  }

  @Test
  void eachJvmOfSurefireWritesItsOwnFile() {
    assertThat(SarifLog.ofFork(sarif, null)).isEqualTo(sarif);
    assertThat(SarifLog.ofFork(sarif, "1")).isEqualTo(sarif);
    assertThat(SarifLog.ofFork(sarif, "2")).hasFileName("kernels-2.sarif");
    assertThat(SarifLog.ofFork(Path.of("log"), "3")).isEqualTo(Path.of("log-3"));
  }
}
