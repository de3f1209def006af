package dev.athanor.ops.matmul;

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
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The text of every kernel that the cases of matmul lead to. */
class MatmulKernelsTest {

  private static final List<Target> TARGETS = List.of(Target.SM_80, Target.SM_89, Target.SM_90);
  private static final Path HASHES = Path.of("src/test/resources/matmul-kernels.sha256");

  /**
   * Every kernel on every target, which takes minutes; without it each kernel meets one target in
   * turn.
   */
  private static final boolean SWEEP = Boolean.getBoolean("athanor.sweep");

  private static final Map<String, Kernel> KERNELS = kernels();

  private static Map<String, Kernel> kernels() {
    var kernels = new TreeMap<String, Kernel>();
    var device = MatmulPlannerTest.capability(Target.SM_90, 132, 232_448);
    for (Op.Case each : new Matmul().cases(new Random(1), false)) {
      var types = new HashMap<String, TensorType>();
      each.inputs().forEach((name, tensor) -> types.put(name, tensor.type()));
      for (var plan : new Matmul().plans(types, each.attributes(), device)) {
        plan.kernels().forEach(kernel -> kernels.put(kernel.name(), kernel));
      }
    }
    return kernels;
  }

  @Test
  void everyKernelKeepsTheRulesAndReadsBackAsItIs() {
    assertThat(KERNELS).hasSizeGreaterThan(300);
    for (var kernel : KERNELS.values()) {
      var module = Module.of(kernel);
      assertThat(Verifier.faults(module)).as(kernel.name()).isEmpty();
      var text = module.toString();
      assertThat(Parser.parse(text, kernel.name()).toString()).isEqualTo(text);
      assertThat(module.target()).as("one text for all GPUs").isEqualTo(Target.SM_80);
      assertThat(module.version()).isEqualTo(Module.PORTABLE);
    }
  }

  static Stream<Assembler> assemblers() {
    return Stream.concat(JCudaAssembler.find().stream(), Ptxas.find().stream());
  }

  @ParameterizedTest
  @MethodSource("assemblers")
  void everyKernelAssemblesWithoutSpills(Assembler assembler) {
    int n = 0;
    for (var kernel : KERNELS.values()) {
      var text = Module.of(kernel).toString();
      // the two assemblers take different kernels for a target, so that together they see more
      int turn = n++;
      if (!SWEEP && assembler instanceof Ptxas && turn % TARGETS.size() != 0) {
        continue;
      }
      for (var target :
          SWEEP ? TARGETS : List.of(TARGETS.get((turn + turn / TARGETS.size()) % TARGETS.size()))) {
        var usage = assembler.assemble(text, target).of(kernel.name());
        assertThat(usage.spillStoreBytes() + usage.spillLoadBytes() + usage.stackBytes())
            .as("bytes spilled by %s for %s", kernel.name(), target)
            .isZero();
        assertThat(usage.registers() * kernel.maxThreads())
            .as("registers of a block")
            .isLessThanOrEqualTo(65_536);
      }
    }
    assertThat(n).isEqualTo(KERNELS.size());
  }

  @Test
  void ptxasIsAskedTooWhereItIs() {
    if (Ptxas.find().isEmpty()) {
      System.err.println(
          "SKIPPED: ptxas is not here, so JNvPTXCompiler alone assembled the kernels");
    }
    assumeTrue(Ptxas.find().isPresent());
    assertThat(assemblers()).hasSize(2);
  }

  /** A change that means to change no kernel changes no text. -Dbless accepts what is there now. */
  @Test
  void textsAreWhatTheyWere() throws IOException {
    var lines = new ArrayList<String>();
    for (var kernel : KERNELS.values()) {
      lines.add(hash(Module.of(kernel).toString()) + "  " + kernel.name());
    }
    var now = lines.stream().collect(Collectors.joining("\n", "", "\n"));
    if (System.getProperty("bless") != null) {
      Files.writeString(HASHES, now);
    }
    assertThat(now.lines()).isEqualTo(Files.readString(HASHES).lines().toList());
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
