package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Parser;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Verifier;
import dev.athanor.engine.ptx.Version;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The text of every kernel that the cases of every op lead to. */
class KernelsTest {

  private static final List<Target> TARGETS =
      List.of(Target.SM_80, Target.SM_86, Target.SM_89, Target.SM_90);
  private static final Path HASHES = Path.of("src/test/resources/kernels");

  /** The newest version of PTX that the compiler within JCuda knows. */
  private static final Version OF_JCUDA = new Version(8, 0);

  /**
   * Every kernel on every target, which takes minutes; without it each kernel meets one target in
   * turn.
   */
  private static final boolean SWEEP = Boolean.getBoolean("athanor.sweep");

  private static final Map<String, List<Text>> TEXTS = new ConcurrentHashMap<>();

  /** A kernel, the module of it alone, and how that is written. */
  private record Text(Kernel kernel, Module module, String ptx) {
    static Text of(Kernel kernel) {
      var module = Module.of(kernel);
      return new Text(kernel, module, module.toString());
    }
  }

  static List<String> ops() {
    return OpsTest.ops();
  }

  /** The kernels of an op in the order of their names. */
  private static List<Text> texts(String op) {
    return TEXTS.computeIfAbsent(
        op,
        _ -> {
          var found = Catalogue.load().find(op).orElseThrow();
          var kernels = new TreeMap<String, Kernel>();
          for (Op.Case each : found.cases(new Random(1), false)) {
            var types = HostTensor.types(each.inputs());
            for (var plan : found.plans(types, each.attributes(), TestDevices.H200)) {
              plan.kernels().forEach(kernel -> kernels.put(kernel.name(), kernel));
            }
          }
          return kernels.values().stream().map(Text::of).toList();
        });
  }

  @ParameterizedTest
  @MethodSource("ops")
  void everyKernelKeepsTheRulesAndReadsBackAsItIs(String op) {
    assertThat(texts(op)).isNotEmpty();
    for (var text : texts(op)) {
      var name = text.kernel.name();
      assertThat(Verifier.faults(text.module)).as(name).isEmpty();
      assertThat(Parser.parse(text.ptx, name).toString()).isEqualTo(text.ptx);
      assertThat(text.module.target()).as("one text for all GPUs").isIn(Target.SM_80, Target.SM_89);
    }
  }

  static Stream<Arguments> opsAndAssemblers() {
    var assemblers = Stream.concat(JCudaAssembler.find().stream(), Ptxas.find().stream()).toList();
    return ops().stream()
        .flatMap(op -> assemblers.stream().map(assembler -> Arguments.of(op, assembler)));
  }

  @ParameterizedTest
  @MethodSource("opsAndAssemblers")
  void everyKernelAssemblesWithoutSpills(String op, Assembler assembler) {
    var all = texts(op);
    IntStream.range(0, all.size())
        .parallel()
        .forEach(turn -> {
          var text = all.get(turn);
          boolean known =
              assembler instanceof Ptxas || text.module.version().compareTo(OF_JCUDA) <= 0;
          // the two assemblers take different kernels for a target, so that together they see more
          if (known
              && (SWEEP || assembler instanceof JCudaAssembler || turn % TARGETS.size() == 0)) {
            var able =
                TARGETS.stream().filter(target -> target.runs(text.module.target())).toList();
            var chosen =
                SWEEP ? able : List.of(able.get((turn + turn / able.size()) % able.size()));
            chosen.forEach(target -> assemblesWithoutSpills(assembler, text, target));
          }
        });
  }

  private static void assemblesWithoutSpills(Assembler assembler, Text text, Target target) {
    var kernel = text.kernel;
    var usage = assembler.assemble(text.ptx, target).of(kernel.name());
    assertThat(usage.spillStoreBytes() + usage.spillLoadBytes() + usage.stackBytes())
        .as("bytes spilled by %s for %s", kernel.name(), target)
        .isZero();
    assertThat(usage.registers() * kernel.maxThreads())
        .as("registers of a block of %s", kernel.name())
        .isLessThanOrEqualTo(65_536);
  }

  @Test
  void ptxasIsAskedTooWhereItIs() {
    if (Ptxas.find().isEmpty()) {
      System.err.println(
          "SKIPPED: ptxas is not here, so JNvPTXCompiler alone assembled the kernels");
    }
    assumeTrue(Ptxas.find().isPresent());
    assertThat(opsAndAssemblers()).hasSize(2 * ops().size());
  }

  /** A change that means to change no kernel changes no text. -Dbless accepts what is there now. */
  @ParameterizedTest
  @MethodSource("ops")
  void textsAreWhatTheyWere(String op) throws IOException {
    var lines = new ArrayList<String>();
    for (var text : texts(op)) {
      lines.add(hash(text.ptx) + "  " + text.kernel.name());
    }
    var now = lines.stream().collect(Collectors.joining("\n", "", "\n"));
    var file = HASHES.resolve(op + ".sha256");
    if (System.getProperty("bless") != null) {
      Files.createDirectories(HASHES);
      Files.writeString(file, now);
    }
    assertThat(now.lines()).isEqualTo(Files.readString(file).lines().toList());
  }

  private static String hash(String text) {
    try {
      var digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
