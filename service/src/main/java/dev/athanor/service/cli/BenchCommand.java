package dev.athanor.service.cli;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.bench.Baseline;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.MatmulBench;
import dev.athanor.ops.bench.MatmulBench.Row;
import dev.athanor.ops.bench.Workload;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor bench}. */
@Command(
    name = "bench",
    description = {
      "Measures how fast ops are; results are sampled, and a wrong one is a failure.",
      "Exit status 0: measured and right; 1: something is wrong."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class BenchCommand implements Callable<Integer> {

  private static final Pattern SHAPE = Pattern.compile("(\\d{1,9}),(\\d{1,9}),(\\d{1,9})");
  private static final List<String> DTYPES = List.of("f32", "f16", "bf16");
  private static final List<String> TRANSPOSES = List.of("nn", "nt", "tn", "tt");

  private static final List<String> SMALL = List.of("256,256,256", "512,512,512");

  /** Squares, and what language models multiply: a token, a few, and many by their weights. */
  private static final List<String> LARGE =
      List.of(
          "512,512,512",
          "1024,1024,1024",
          "2048,2048,2048",
          "4096,4096,4096",
          "8192,8192,8192",
          "1,4096,4096",
          "16,4096,4096",
          "4096,11008,4096");

  private final Catalogue catalogue;

  @Spec private CommandSpec spec;

  @Mixin private DeviceOption device;

  @Parameters(arity = "0..*", paramLabel = "OP", description = "what is measured: matmul")
  private List<String> names = new ArrayList<>();

  @Option(
      names = "--shape",
      arity = "1..*",
      paramLabel = "M,N,K",
      description =
          "products of [M, K] and [K, N]; by default 256 and 512 cubed on the emulator, and on a GPU"
              + " squares from 512 to 8192 and shapes of language models")
  private List<String> shapes = new ArrayList<>();

  @Option(
      names = "--dtype",
      split = ",",
      paramLabel = "DTYPE",
      description = "f32, f16, bf16; default: all")
  private List<String> dtypes = DTYPES;

  @Option(
      names = "--transpose",
      split = ",",
      paramLabel = "AB",
      description = "which of a and b are stored transposed: nn, nt, tn, tt; default: nn")
  private List<String> transposes = List.of("nn");

  @Option(
      names = "--all-variants",
      description = "every kernel variant, not only the one that the planner takes")
  private boolean allVariants;

  @Option(
      names = "--warmup",
      paramLabel = "N",
      description = "launches before the clock runs; default: 10, on the emulator 3")
  private @Nullable Integer warmup;

  @Option(
      names = "--repeat",
      paramLabel = "N",
      description = "the fewest samples; default: 20, on the emulator 5")
  private @Nullable Integer repeat;

  @Option(
      names = "--min-time",
      paramLabel = "MS",
      description =
          "samples go on until they add up to so many milliseconds; default: 200, on the emulator 0")
  private @Nullable Double minMillis;

  @Option(
      names = "--baseline",
      paramLabel = "LIBRARY",
      description = "cublas: measured turn by turn with ours, on the same buffers")
  private @Nullable String baseline;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "what matrices are drawn from; default: ${DEFAULT-VALUE}")
  private long seed;

  @Option(names = "--json", paramLabel = "FILE", description = "writes all results to this file")
  private @Nullable Path json;

  @Option(names = "--markdown", paramLabel = "FILE", description = "writes the table to this file")
  private @Nullable Path markdown;

  public BenchCommand() {
    this(Catalogue.load());
  }

  BenchCommand(Catalogue catalogue) {
    this.catalogue = catalogue;
  }

  @Override
  public Integer call() throws IOException {
    for (var name : names) {
      if (!name.equals("matmul")) {
        throw misuse("there is no benchmark \"%s\"; benchmarks are matmul".formatted(name));
      }
    }
    among("--dtype", dtypes, DTYPES);
    among("--transpose", transposes, TRANSPOSES);
    if (baseline != null) {
      among("--baseline", List.of(baseline), List.of("cublas"));
    }
    workloads(shapes); // before a device is opened
    effort(true);
    ResultFile.check(spec.commandLine(), "--json", json);
    ResultFile.check(spec.commandLine(), "--markdown", markdown);
    var opened = device.open();
    try (var target = opened.device()) {
      boolean emulated = target.capability().id().startsWith("emulator");
      var workloads = workloads(shapes.isEmpty() ? emulated ? SMALL : LARGE : shapes);
      var effort = effort(emulated);
      var machine = Machine.of(opened);
      var other = openBaseline(target);
      var date = Instant.now();
      var out = spec.commandLine().getOut();
      out.println(machine);
      out.flush();
      var rows = new ArrayList<Row>();
      var lost = measure(target, effort, other, workloads, rows);
      var report =
          BenchReport.of(machine, date, other.map(Baseline::name), effort, seed, lost, rows);
      out.println();
      report.table().text().forEach(out::println);
      out.println();
      report.notes().forEach(out::println);
      out.flush();
      if (json != null) {
        ResultFile.write(json, List.of(ResultFile.json(report)));
      }
      ResultFile.write(markdown, report.markdown());
      return report.ok() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }
  }

  /** Adds what was measured to {@code rows}; says why not all was, where the device was lost. */
  private Optional<String> measure(
      Device target,
      Effort effort,
      Optional<Baseline> other,
      List<Workload> workloads,
      List<Row> rows) {
    var matmul =
        catalogue
            .find("matmul")
            .orElseThrow(() -> new IllegalStateException("the catalogue has no matmul"));
    try (var bench = new MatmulBench(target, matmul, effort, other);
        var progress = new Progress(spec.commandLine().getErr())) {
      for (int i = 0; i < workloads.size(); i++) {
        progress.at(i + 1, workloads.size(), workloads.get(i).toString());
        bench.run(workloads.get(i), allVariants, seed, rows::add);
      }
      return Optional.empty();
    } catch (DeviceException.Lost e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  private Optional<Baseline> openBaseline(Device target) {
    if (baseline == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(Baseline.cuBlas(target));
    } catch (DeviceException.Unavailable e) {
      throw misuse("--baseline cublas: " + e.getMessage());
    }
  }

  private Effort effort(boolean emulated) {
    try {
      return new Effort(
          warmup != null ? warmup : emulated ? 3 : 10,
          repeat != null ? repeat : emulated ? 5 : 20,
          minMillis != null ? minMillis : emulated ? 0 : 200);
    } catch (IllegalArgumentException e) {
      throw misuse("--warmup, --repeat, --min-time: " + e.getMessage());
    }
  }

  private List<Workload> workloads(List<String> wanted) {
    var all = new ArrayList<Workload>();
    for (var dtype : dtypes) {
      for (var transpose : transposes) {
        for (var shape : wanted) {
          var extents = SHAPE.matcher(shape);
          if (!extents.matches() || shape.matches("(.*,)?0+(,.*)?")) {
            throw misuse(
                "--shape %s: a shape is M,N,K, three integers of at least 1, such as 512,512,512"
                    .formatted(shape));
          }
          all.add(
              new Workload(
                  DType.of(dtype).orElseThrow(),
                  transpose.charAt(0) == 't',
                  transpose.charAt(1) == 't',
                  Integer.parseInt(extents.group(1)),
                  Integer.parseInt(extents.group(2)),
                  Integer.parseInt(extents.group(3))));
        }
      }
    }
    return all;
  }

  private void among(String option, List<String> given, List<String> right) {
    for (var each : given) {
      if (!right.contains(each)) {
        throw misuse("%s %s: it takes %s".formatted(option, each, String.join(", ", right)));
      }
    }
  }

  private ParameterException misuse(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
