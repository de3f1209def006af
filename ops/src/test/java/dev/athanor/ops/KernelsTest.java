package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks the PTX of every kernel that the cases of the ops use. */
@Tag(TestTier.THOROUGH_TAG)
class KernelsTest {

  private static final List<Target> TARGETS =
      List.of(Target.SM_80, Target.SM_86, Target.SM_89, Target.SM_90, Target.SM_90A);

  /** GPUs that multiply fp8 in different ways. */
  private static final List<Capability> GPUS =
      List.of(TestDevices.H200, OpProfile.capability(Gpu.RTX_4090));

  private static final Path HASHES = Path.of("src/test/resources/kernels");

  private static final Pattern MMA_OF_FP8 = Pattern.compile("mma\\.sync\\S*\\.e[45]m[23]\\.");

  /** The newest PTX version that the compiler bundled with JCuda supports. */
  private static final Version JCUDA_PTX = new Version(8, 0);

  /** Whether to assemble every kernel for every target, which takes many minutes. */
  private static final boolean SWEEP = TestTier.current() == TestTier.SWEEP;

  /** One in this many of the unchanged kernels is assembled. */
  private static final int SAMPLE = 32;

  private static final Map<String, List<Text>> TEXTS = new ConcurrentHashMap<>();
  private static final Map<String, Map<String, List<Step>>> STEPS = new ConcurrentHashMap<>();

  /** A kernel, a module that contains only this kernel, and the module's PTX. */
  private record Text(Kernel kernel, Module module, String ptx) {
    static Text of(Kernel kernel) {
      var module = Module.of(kernel);
      return new Text(kernel, module, module.toString());
    }

    /** Returns the line of this kernel in the list of its op. */
    String line() {
      return hash(ptx) + "  " + kernel.name();
    }
  }

  static List<String> ops() {
    return OpsTest.ops();
  }

  /** Returns the kernels of an op, ordered by name. */
  private static List<Text> texts(String op) {
    return TEXTS.computeIfAbsent(
        op,
        _ ->
            steps(op).values().parallelStream()
                .map(steps -> Text.of(steps.getFirst().variant().build()))
                .toList());
  }

  /** Returns the steps of an op by kernel, one for each binding of tensors to parameters. */
  private static Map<String, List<Step>> steps(String op) {
    return STEPS.computeIfAbsent(
        op,
        _ -> {
          var found = Catalogue.load().find(op).orElseThrow();
          var steps = new TreeMap<String, Map<String, Step>>();
          for (Op.Case each : found.cases(new Random(1), false)) {
            var problem = new Problem(found, HostTensor.types(each.inputs()), each.attributes());
            for (var gpu : GPUS) {
              for (var plan : Production.plans(problem, gpu)) {
                for (var step : plan.steps()) {
                  steps
                      .computeIfAbsent(step.variant().name(), _ -> new TreeMap<>())
                      .putIfAbsent(tensors(step).toString(), step);
                }
              }
            }
          }
          var lists = new TreeMap<String, List<Step>>();
          steps.forEach((name, bindings) -> lists.put(name, List.copyOf(bindings.values())));
          return lists;
        });
  }

  /** Returns the parameters by the tensor or memory that they address. */
  private static Map<String, Set<String>> tensors(Step step) {
    var tensors = new TreeMap<String, Set<String>>();
    step.arguments()
        .slots()
        .forEach((parameter, slot) -> {
          tensors.computeIfAbsent(tensor(parameter, slot), _ -> new TreeSet<>()).add(parameter);
        });
    return tensors;
  }

  private static String tensor(String parameter, Slot slot) {
    return switch (slot) {
      case Slot.Input(var name, _) -> "input " + name;
      case Slot.Output(var name, _) -> "output " + name;
      case Slot.Workspace(var offset) -> "workspace " + (offset == 0 ? "" : parameter);
      case Slot.Tensor(var first, _) -> tensor(parameter, first);
      case Slot.Scalar _ -> "scalars";
    };
  }

  /**
   * Checks that every launch has an argument of the right type for each parameter, that kernels
   * write no inputs, and that they read the memory that they write without {@code ld.global.nc}.
   */
  @ParameterizedTest
  @MethodSource("ops")
  void argumentsMatchParameters(String op) {
    var found = Catalogue.load().find(op).orElseThrow();
    steps(op)
        .forEach((name, steps) -> {
          var kernel = steps.getFirst().variant().build();
          var use = PointerUse.of(kernel);
          for (var step : steps) {
            var slots = step.arguments().slots();
            for (var parameter : kernel.parameters()) {
              var fits =
                  switch (slots.get(parameter.name())) {
                    case null -> false;
                    case Slot.Scalar(var value) -> value.fits(parameter);
                    case Slot.Tensor _ -> parameter.bytes() == TensorMap.BYTES;
                    default -> parameter.type() == Type.U64;
                  };
              assertThat(fits).as("%s: argument of %s", name, parameter).isTrue();
            }
            assertThat(slots).as("arguments of %s", name).hasSize(kernel.parameters().size());
            var tensors = tensors(step);
            boolean writes =
                tensors.entrySet().stream()
                    .anyMatch(each ->
                        each.getKey().startsWith("output")
                            && !Collections.disjoint(each.getValue(), use.written()));
            tensors.forEach((tensor, parameters) -> {
              if (tensor.startsWith("input")) {
                assertThat(use.written())
                    .as("%s writes %s", name, tensor)
                    .doesNotContainAnyElementsOf(parameters);
              }
              boolean isWritten =
                  tensor.startsWith("input")
                      ? writes && found.mayReplace(tensor.substring("input ".length()))
                      : !Collections.disjoint(parameters, use.written());
              if (isWritten && !tensor.equals("scalars")) {
                assertThat(use.readOnly())
                    .as("%s writes %s and loads it as read-only", name, tensor)
                    .doesNotContainAnyElementsOf(parameters);
              }
            });
          }
        });
  }

  @ParameterizedTest
  @MethodSource("ops")
  void kernelsAreValidAndParseBack(String op) {
    assertThat(texts(op)).isNotEmpty();
    for (var text : texts(op)) {
      var name = text.kernel.name();
      assertThat(Verifier.faults(text.module)).as(name).isEmpty();
      assertThat(Parser.parse(text.ptx, name).toString()).isEqualTo(text.ptx);
      assertThat(text.module.target())
          .as("one text for all GPUs; that of dependent launches is rewritten before sm_90")
          .isIn(Target.SM_80, Target.SM_89, Target.SM_90, Target.SM_90A);
    }
  }

  static Stream<Arguments> opsAndAssemblers() {
    return ops().stream()
        .flatMap(op -> assemblers().stream().map(assembler -> Arguments.of(op, assembler)));
  }

  private static List<Assembler> assemblers() {
    return Stream.concat(JCudaAssembler.find().stream(), Ptxas.find().stream())
        .<Assembler>map(assembler -> assembler)
        .toList();
  }

  /**
   * Assembles new and changed kernels for all their targets. The others were assembled when their
   * texts were recorded; a sample of them is assembled again, each for one target.
   */
  @ParameterizedTest
  @MethodSource("opsAndAssemblers")
  void kernelsAssembleWithoutSpills(String op, Assembler assembler) throws IOException {
    var all = texts(op);
    var recorded = recorded(op);
    IntStream.range(0, all.size())
        .parallel()
        .forEach(turn -> {
          var text = all.get(turn);
          var able = targets(text, assembler);
          if (SWEEP || !recorded.contains(text.line())) {
            able.forEach(target -> assertAssemblesWithoutSpills(assembler, text, target));
          } else if (turn % SAMPLE == 0 && !able.isEmpty()) {
            var target = able.get(turn / SAMPLE % able.size());
            assertAssemblesWithoutSpills(assembler, text, target);
          }
        });
  }

  /**
   * Returns the targets for which an assembler can assemble a kernel. Planners offer {@code mma} of
   * fp8 only where it is not emulated. The compiler bundled with JCuda crashes on some kernels if
   * the target is newer than the kernel's own.
   */
  private static List<Target> targets(Text text, Assembler assembler) {
    boolean multipliesFp8 = MMA_OF_FP8.matcher(text.ptx).find();
    var able =
        TARGETS.stream()
            .filter(target -> target.canRun(text.module.target()))
            .filter(target -> !target.equals(Target.SM_90A) || target.equals(text.module.target()))
            .filter(target -> !multipliesFp8 || target.equals(Target.SM_89));
    if (assembler instanceof Ptxas) {
      return able.toList();
    }
    return text.module.version().compareTo(JCUDA_PTX) <= 0 ? able.limit(1).toList() : List.of();
  }

  private static void assertAssemblesWithoutSpills(Assembler assembler, Text text, Target target) {
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
  void usesPtxasIfInstalled() {
    Programs.require(Ptxas.find(), "ptxas", "install a CUDA toolkit");
    assertThat(opsAndAssemblers()).hasSize(2 * ops().size());
  }

  /**
   * Compares the texts with the recorded ones, so that a refactoring does not change them
   * unnoticed. -Dbless with -Dathanor.thorough records the current texts if the changed kernels
   * assemble without spills.
   */
  @ParameterizedTest
  @MethodSource("ops")
  void textsAreUnchanged(String op) throws IOException {
    var now = texts(op).stream().map(Text::line).toList();
    if (System.getProperty("bless") != null) {
      for (var assembler : assemblers()) {
        kernelsAssembleWithoutSpills(op, assembler);
      }
      Files.createDirectories(HASHES);
      Files.write(file(op), now);
    }
    assertThat(now).isEqualTo(recorded(op));
  }

  private static List<String> recorded(String op) throws IOException {
    return Files.exists(file(op)) ? Files.readAllLines(file(op)) : List.of();
  }

  private static Path file(String op) {
    return HASHES.resolve(op + ".sha256");
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
