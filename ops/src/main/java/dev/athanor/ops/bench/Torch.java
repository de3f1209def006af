package dev.athanor.ops.bench;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.device.Device;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * PyTorch in a Python process of its own, which is started for the first problem and answers a line
 * of JSON for each ({@code torch_baseline.py}). A process that fails at a problem is ended, and the
 * next problem gets a new one, since a GPU's context may be lost with it; one that cannot even
 * start is not tried again.
 */
public final class Torch implements Baseline.Timed {

  /** The variable that says which Python is started, instead of {@code python3}. */
  public static final String PYTHON = "ATHANOR_PYTHON";

  /** For Python's imports and for problems that a processor takes long for. */
  private static final Duration PATIENCE = Duration.ofMinutes(10);

  private static final JsonMapper JSON = JsonMapper.shared();

  private final String python;
  private final String device;
  private final Duration patience;
  private String name = "PyTorch";
  private Optional<String> missing = Optional.empty();
  private @Nullable Worker worker;

  /** On the same GPU as ours, or on the processor where ours is emulated. */
  public static Torch beside(Device ours) {
    return new Torch(
        Objects.requireNonNullElse(System.getenv(PYTHON), "python3"),
        ours instanceof CudaDevice gpu ? gpu.capability().id() : "cpu",
        PATIENCE);
  }

  Torch(String python, String device, Duration patience) {
    this.python = python;
    this.device = device;
    this.patience = patience;
  }

  @Override
  public String library() {
    return "torch";
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Optional<String> missing() {
    return missing;
  }

  @Override
  public Optional<Baseline.Result> time(
      Problem problem, Map<String, TensorType> outputs, Effort effort, long seed) {
    if (missing.isPresent()) {
      return Optional.empty();
    }
    var running = worker;
    if (running == null) {
      try {
        running = start();
        worker = running;
      } catch (Failure e) {
        missing =
            Optional.of(
                "%s; PyTorch is asked through python3 of the PATH or what %s names"
                    .formatted(e.getMessage(), PYTHON));
        return Optional.empty();
      }
    }
    try {
      var wait = patience.plusMillis((long) (20 * effort.minMillis()));
      var answer = running.ask(request(problem, outputs, effort, seed), wait);
      if (answer.has("unsupported")) {
        return Optional.of(untimed("unsupported: " + answer.get("unsupported").asString()));
      }
      if (answer.has("failed")) {
        throw new Failure(answer.get("failed").asString());
      }
      return Optional.of(
          new Baseline.Result(library(), Optional.of(samples(answer)), text(answer, "call")));
    } catch (Failure e) {
      running.end(Duration.ZERO);
      worker = null;
      return Optional.of(untimed("failed: " + e.getMessage()));
    }
  }

  private Baseline.Result untimed(String remark) {
    return new Baseline.Result(library(), Optional.empty(), remark);
  }

  private Worker start() throws Failure {
    var started = new Worker(python, device);
    boolean ready = false;
    try {
      var hello = started.answer(patience);
      if (hello.has("failed")) {
        throw new Failure(hello.get("failed").asString());
      }
      name = text(hello, "name");
      ready = true;
      return started;
    } finally {
      if (!ready) {
        started.end(Duration.ZERO);
      }
    }
  }

  private static String request(
      Problem problem, Map<String, TensorType> outputs, Effort effort, long seed) {
    var request = new LinkedHashMap<String, Object>();
    request.put("op", problem.op().description().name());
    request.put("inputs", types(problem.inputs()));
    request.put("outputs", types(outputs));
    request.put("attributes", problem.attributes().values());
    request.put("warmup", effort.warmup());
    request.put("repeat", effort.repeat());
    request.put("minMillis", effort.minMillis());
    request.put("seed", seed);
    return JSON.writeValueAsString(request);
  }

  private static Map<String, Object> types(Map<String, TensorType> tensors) {
    var types = new LinkedHashMap<String, Object>();
    tensors.forEach((tensor, type) ->
        types.put(tensor, Map.of("dtype", type.dtype().text(), "shape", type.shape().extents())));
    return types;
  }

  private static Samples samples(JsonNode answer) throws Failure {
    return new Samples(
        positive(answer, "median"),
        positive(answer, "min"),
        positive(answer, "max"),
        (int) positive(answer, "count"),
        (int) positive(answer, "batch"));
  }

  private static double positive(JsonNode answer, String field) throws Failure {
    var value = answer.get(field);
    if (value == null || !value.isNumber() || !(value.doubleValue() > 0)) {
      throw unexpected(answer.toString(), "a positive \"%s\"".formatted(field));
    }
    return value.doubleValue();
  }

  private static String text(JsonNode answer, String field) throws Failure {
    var value = answer.get(field);
    if (value == null || !value.isString()) {
      throw unexpected(answer.toString(), "a \"%s\"".formatted(field));
    }
    return value.asString();
  }

  private static Failure unexpected(String answer, String wanted) {
    return new Failure(
        "its process answered \"%s\", which is no JSON object with %s"
            .formatted(answer.substring(0, Math.min(answer.length(), 200)), wanted));
  }

  @Override
  public void close() {
    if (worker != null) {
      worker.end(Duration.ofSeconds(5));
      worker = null;
    }
  }

  /** Why there is no time, in a sentence. */
  private static final class Failure extends Exception {
    private static final long serialVersionUID = 1;

    Failure(String sentence) {
      super(sentence);
    }

    @Override
    public String getMessage() {
      return String.valueOf(super.getMessage());
    }
  }

  /** One process. */
  private static final class Worker {
    private final Process process;
    private final Path errors;
    private final Writer questions;
    private final BufferedReader answers;

    Worker(String python, String device) throws Failure {
      try (var script = Torch.class.getResourceAsStream("torch_baseline.py")) {
        var text =
            new String(Objects.requireNonNull(script).readAllBytes(), StandardCharsets.UTF_8);
        errors = Files.createTempFile("athanor-torch", ".err");
        errors.toFile().deleteOnExit();
        process =
            new ProcessBuilder(List.of(python, "-c", text, device))
                .redirectError(errors.toFile())
                .start();
        questions = process.outputWriter(StandardCharsets.UTF_8);
        answers = process.inputReader(StandardCharsets.UTF_8);
      } catch (IOException e) {
        throw new Failure("%s does not start: %s".formatted(python, e.getMessage()));
      }
    }

    JsonNode ask(String question, Duration patience) throws Failure {
      try {
        questions.write(question);
        questions.write('\n');
        questions.flush();
      } catch (IOException e) {
        throw death();
      }
      return answer(patience);
    }

    JsonNode answer(Duration patience) throws Failure {
      var line =
          CompletableFuture.supplyAsync(
              this::readLine, task -> Thread.ofPlatform().daemon().name("torch").start(task));
      String answer;
      try {
        answer = line.get(patience.toMillis(), TimeUnit.MILLISECONDS).orElse(null);
      } catch (TimeoutException e) {
        throw new Failure("its process did not answer within %d ms".formatted(patience.toMillis()));
      } catch (ExecutionException e) {
        throw death();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new Failure("it was interrupted");
      }
      if (answer == null) {
        throw death();
      }
      try {
        var node = JSON.readTree(answer);
        if (node.isObject()) {
          return node;
        }
        throw unexpected(answer, "what was asked for");
      } catch (JacksonException e) {
        throw unexpected(answer, "what was asked for");
      }
    }

    private Optional<String> readLine() {
      try {
        return Optional.ofNullable(answers.readLine());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Returns the process is gone or as good as gone: its last words are on standard error. */
    private Failure death() {
      waitFor(Duration.ofSeconds(5));
      var status = process.isAlive() ? "" : " with status %d".formatted(process.exitValue());
      return new Failure("its process ended%s before it answered%s".formatted(status, lastWords()));
    }

    private String lastWords() {
      try {
        var said = new String(Files.readAllBytes(errors), StandardCharsets.UTF_8);
        return said.lines()
            .filter(line -> !line.isBlank())
            .reduce((_, last) -> last)
            .map(last -> ": " + last.strip())
            .orElse("");
      } catch (IOException e) {
        return "";
      }
    }

    /** Lets it end by itself for so long, and then ends it. */
    void end(Duration patience) {
      try {
        questions.close();
      } catch (IOException e) {
        // it has gone already
      }
      if (patience.isZero() || !waitFor(patience)) {
        process.destroyForcibly();
        waitFor(Duration.ofSeconds(5));
      }
      boolean _ = errors.toFile().delete(); // or else at the JVM's end
    }

    private boolean waitFor(Duration patience) {
      try {
        return process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
  }
}
