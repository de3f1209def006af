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
 * PyTorch in a separate Python process, started for the first problem ({@code torch_baseline.py}).
 * The process answers each problem with a line of JSON. After a failure, the next problem gets a
 * new process, because the GPU context may be lost; a process that fails to start is not retried.
 */
public final class Torch implements Baseline.Timed {

  /** The environment variable that names the Python executable; {@code python3} by default. */
  public static final String PYTHON = "ATHANOR_PYTHON";

  /** The timeout for Python's imports and for a problem, which may be slow on a CPU. */
  private static final Duration TIMEOUT = Duration.ofMinutes(10);

  private static final JsonMapper JSON = JsonMapper.shared();

  private final String python;
  private final String device;
  private final Duration timeout;
  private String name = "PyTorch";
  private Optional<String> missing = Optional.empty();
  private @Nullable Worker worker;

  /** Returns a baseline on the same GPU, or on the CPU if the device is emulated. */
  public static Torch beside(Device ours) {
    return new Torch(
        Objects.requireNonNullElse(System.getenv(PYTHON), "python3"),
        ours instanceof CudaDevice gpu ? gpu.capability().id() : "cpu",
        TIMEOUT);
  }

  Torch(String python, String device, Duration timeout) {
    this.python = python;
    this.device = device;
    this.timeout = timeout;
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
                "%s; PyTorch must be installed for python3 on the PATH or for the interpreter that %s names"
                    .formatted(e.getMessage(), PYTHON));
        return Optional.empty();
      }
    }
    try {
      var wait = timeout.plusMillis((long) (20 * effort.minMillis()));
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
      var hello = started.answer(timeout);
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
        "its process answered \"%s\"; expected a JSON object with %s"
            .formatted(answer.substring(0, Math.min(answer.length(), 200)), wanted));
  }

  @Override
  public void close() {
    if (worker != null) {
      worker.end(Duration.ofSeconds(5));
      worker = null;
    }
  }

  /** The reason, in one sentence, why a problem was not timed. */
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

  /** A Python process. */
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

    JsonNode ask(String question, Duration timeout) throws Failure {
      try {
        questions.write(question);
        questions.write('\n');
        questions.flush();
      } catch (IOException e) {
        throw processEnded();
      }
      return answer(timeout);
    }

    JsonNode answer(Duration timeout) throws Failure {
      var line =
          CompletableFuture.supplyAsync(
              this::readLine, task -> Thread.ofPlatform().daemon().name("torch").start(task));
      String answer;
      try {
        answer = line.get(timeout.toMillis(), TimeUnit.MILLISECONDS).orElse(null);
      } catch (TimeoutException e) {
        throw new Failure("its process did not respond within %d ms".formatted(timeout.toMillis()));
      } catch (ExecutionException e) {
        throw processEnded();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new Failure("it was interrupted");
      }
      if (answer == null) {
        throw processEnded();
      }
      try {
        var node = JSON.readTree(answer);
        if (node.isObject()) {
          return node;
        }
        throw unexpected(answer, "the requested values");
      } catch (JacksonException e) {
        throw unexpected(answer, "the requested values");
      }
    }

    private Optional<String> readLine() {
      try {
        return Optional.ofNullable(answers.readLine());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /**
     * Returns the failure of a process that has ended, with the last line of its standard error.
     */
    private Failure processEnded() {
      waitFor(Duration.ofSeconds(5));
      var status = process.isAlive() ? "" : " with status %d".formatted(process.exitValue());
      return new Failure(
          "its process ended%s before it answered%s".formatted(status, lastErrorLine()));
    }

    private String lastErrorLine() {
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

    /** Waits for the process to exit and destroys it after the timeout. */
    void end(Duration timeout) {
      try {
        questions.close();
      } catch (IOException e) {
        // the process has already exited
      }
      if (timeout.isZero() || !waitFor(timeout)) {
        process.destroyForcibly();
        waitFor(Duration.ofSeconds(5));
      }
      boolean _ = errors.toFile().delete(); // otherwise deleted when the JVM exits
    }

    private boolean waitFor(Duration timeout) {
      try {
        return process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
  }
}
