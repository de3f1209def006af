package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Checks the kernels that production picks: those of each {@link Corpus}. Each must assemble for
 * every target that a planner offers it for, without spills, warnings, emulated matrix instructions
 * or loops that mostly move registers, and must be correct on the emulator with its sanitizer. This
 * takes minutes, so a build checks only kernels that are new or changed since the ledger in {@code
 * src/test/resources/first-choices} was written. {@code -Dbless} rewrites the ledger once the
 * kernels pass, and the sweep checks all kernels again. {@link LedgerEntry} describes the format.
 */
@Tag(TestTier.THOROUGH_TAG)
class FirstChoicesTest {

  private static final Path REVIEWED = Path.of("src/test/resources/first-choices");
  private static final boolean SWEEP = TestTier.current() == TestTier.SWEEP;
  private static final long SEED = TestTier.seed();

  static List<String> ops() {
    return OpsTest.ops();
  }

  /** Checks that every kernel can be run; a build runs only those that changed. */
  @ParameterizedTest
  @MethodSource("ops")
  void everyFirstChoiceIsRun(String op) {
    assertThat(Corpus.of(op).untested())
        .as(
            "first choices of %s that neither a case nor a trial runs; for each, add a line \"run\""
                + " with few blocks to production.txt",
            op)
        .isEmpty();
  }

  @ParameterizedTest
  @MethodSource("ops")
  void runsEveryValueOfEveryPlanParameter(String op) {
    var corpus = Corpus.of(op);
    assertThat(corpus.tested())
        .as("values of plan parameters of %s in kernels that are run", op)
        .containsAll(corpus.planned());
  }

  @ParameterizedTest
  @MethodSource("ops")
  void everyFirstChoiceIsReviewed(String name) throws IOException {
    var op = Catalogue.load().find(name).orElseThrow();
    var corpus = Corpus.of(name);
    var file = REVIEWED.resolve(name + ".txt");
    var reviewed = read(file);
    var targets = Production.targets(op);
    var known = new TreeMap<String, LedgerLine>();
    var modules = new TreeMap<String, Module>();
    corpus
        .kernels()
        .forEach((kernel, variant) -> {
          var module = Module.of(variant.build());
          modules.put(kernel, module);
          var line = reviewed.get(kernel);
          if (!SWEEP && line != null && line.hash().equals(hash(module))) {
            known.put(kernel, line);
          }
        });
    var lines = assembled(modules, targets, known);
    var trials =
        corpus.trials().stream()
            .filter(each -> !known.keySet().containsAll(Corpus.names(each.plan())))
            .toList();
    run(op, trials);
    if (System.getProperty("bless") != null) {
      Files.createDirectories(REVIEWED);
      Files.write(file, lines.values().stream().map(LedgerLine::toString).toList());
      return;
    }
    assertThat(reviewed.values())
        .as("reviewed first choices of %s; changed kernels pass, and -Dbless accepts them", name)
        .containsExactlyElementsOf(lines.values());
  }

  /** Returns the lines of a ledger by kernel name. */
  private static Map<String, LedgerLine> read(Path file) throws IOException {
    var lines = new TreeMap<String, LedgerLine>();
    if (Files.exists(file)) {
      Files.readAllLines(file).stream()
          .map(LedgerLine::parse)
          .forEach(line -> lines.put(line.kernel(), line));
    }
    return lines;
  }

  /**
   * Asserts that the machine code of kernels has no faults, and returns their lines.
   *
   * @param known the lines of kernels that have not changed, whose entries are kept
   */
  private static Map<String, LedgerLine> assembled(
      Map<String, Module> modules,
      Map<String, Set<Target>> targets,
      Map<String, LedgerLine> known) {
    var lines = new ConcurrentSkipListMap<String, LedgerLine>();
    var faults = new ConcurrentSkipListMap<String, List<String>>();
    modules.entrySet().parallelStream()
        .forEach(each -> {
          var name = each.getKey();
          var module = each.getValue();
          var entries = new ArrayList<LedgerEntry>();
          for (var target : targets.getOrDefault(name, Set.of())) {
            var own = module.target().equals(Target.SM_90A) ? Target.SM_90A : target;
            var line = Optional.ofNullable(known.get(name));
            entries.add(
                line.flatMap(reviewed -> reviewed.entry(own.sm()))
                    .orElseGet(() -> assembled(name, module, own, faults)));
          }
          lines.put(name, new LedgerLine(hash(module), name, entries));
        });
    assertThat(faults).as("first choices with faults in their machine code").isEmpty();
    return lines;
  }

  private static LedgerEntry assembled(
      String kernel, Module module, Target target, Map<String, List<String>> faults) {
    var assembler = LedgerEntry.assembler(target);
    var judged =
        LedgerEntry.assemble(assembler, kernel, Legalizer.legalize(module, target), target);
    if (!judged.faults().isEmpty()) {
      faults.put(kernel + " for " + target, judged.faults());
    }
    return judged.entry();
  }

  private static void run(Op op, List<Corpus.Trial> trials) {
    var options = EmulatorOptions.DEFAULT.withTarget(Target.SM_90A).withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options)) {
      for (var trial : trials) {
        var checks = new ArrayList<Check>();
        var only = List.of(new SingleTrial(op, trial));
        new Verification(device, only, false, SEED, OptionalInt.empty()).run(checks::add);
        assertThat(checks)
            .as("%s %s, seed %d", op.description().name(), trial.problem().text(), SEED)
            .hasSize(1)
            .allSatisfy(check -> assertThat(check.failure()).isEmpty());
      }
    }
  }

  /** An op restricted to the case and the plan of a trial. */
  private record SingleTrial(Op op, Corpus.Trial trial) implements Op {

    @Override
    public OpDescription description() {
      return op.description();
    }

    @Override
    public List<? extends Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      return List.of(trial.plan());
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      return op.reference(inputs, attributes);
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      var problem = trial.problem();
      var tolerances = new LinkedHashMap<String, Tolerance>();
      trial
          .plan()
          .outputs()
          .forEach((name, type) ->
              tolerances.put(
                  name, op.tolerance(name, type.dtype(), problem.inputs(), problem.attributes())));
      var inputs = problem.draw(new SplittableRandom(random.nextLong()));
      return List.of(new Case(inputs, problem.attributes(), tolerances));
    }
  }

  private static String hash(Module module) {
    try {
      var text = module.toString().getBytes(StandardCharsets.UTF_8);
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text), 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
