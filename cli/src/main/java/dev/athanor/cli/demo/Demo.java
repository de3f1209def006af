package dev.athanor.cli.demo;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.athanor.cli.load.Target;
import dev.athanor.cli.report.Progress;
import dev.athanor.client.Athanor;
import dev.athanor.client.AthanorException;
import dev.athanor.client.GenerateRequest;
import dev.athanor.client.Generation;
import dev.athanor.client.SessionInfo;
import dev.athanor.client.TensorInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.LongConsumer;
import tools.jackson.databind.json.JsonMapper;

/** Stores a small decoder in a service, generates with it, and measures that. */
final class Demo {

  static final List<String> PROMPTS = List.of("Once upon a time, ", "int main(void) {");

  /** Tokens of a session that are not measured. */
  private static final int WARM_UP = 2;

  private final Athanor athanor;
  private final Target target;
  private final Progress progress;

  /** A name that no other model has, because storing a model replaces that with its name. */
  private final String model = "demo-" + UUID.randomUUID();

  private int done;
  private int total;

  /** Creates a demonstration with a service, for which there are a client and a target. */
  Demo(Athanor athanor, Target target, Progress progress) {
    this.athanor = athanor;
    this.target = target;
    this.progress = progress;
  }

  /**
   * Runs the demonstration, and deletes the model at the end.
   *
   * @param tokens the number of tokens to generate in each session
   */
  DemoReport run(DemoCheckpoint checkpoint, int tokens) throws IOException, InterruptedException {
    store(checkpoint);
    try {
      warmUp();
      var sessions = new ArrayList<String>();
      for (int i = 0; i < PROMPTS.size(); i++) {
        sessions.add(athanor.createSession(model).id());
      }
      total = 2 * PROMPTS.size() * tokens;
      var together = together(sessions, tokens);
      long inUse = athanor.sessions(model).stream().mapToLong(SessionInfo::bytes).sum();
      var step = step(sessions.getFirst());
      var again = again(tokens);
      long weights = bytes(true);
      return new DemoReport(
          checkpoint, PROMPTS, together, again, step, weights, bytes(false), inUse);
    } finally {
      athanor.deleteModel(model);
    }
  }

  private void store(DemoCheckpoint checkpoint) throws IOException {
    var folder = Files.createTempDirectory("athanor-demo-");
    try {
      checkpoint.write(folder);
      athanor.storeModel(model, folder);
    } finally {
      try (var files = Files.list(folder)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
    }
  }

  private static GenerateRequest request(int session, int tokens) {
    var bytes = PROMPTS.get(session).getBytes(US_ASCII);
    var prompt = new long[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      prompt[i] = bytes[i];
    }
    return GenerateRequest.of(prompt)
        .maxTokens(tokens)
        .seed(session)
        .temperature(0.7)
        .deadline(DemoCommand.DEADLINE);
  }

  /** Plans graphs and compiles kernels for the shapes of the first measured requests. */
  private void warmUp() {
    var calls = new ArrayList<CompletableFuture<Generation>>();
    for (int i = 0; i < PROMPTS.size(); i++) {
      calls.add(athanor.async().generate(model, request(i, WARM_UP), token -> {}));
    }
    calls.forEach(Demo::await);
  }

  private LongConsumer counter(String what) {
    return token -> {
      synchronized (progress) {
        progress.at(++done, total, what);
      }
    };
  }

  private DemoReport.Run together(List<String> sessions, int tokens) {
    long began = System.nanoTime();
    var calls = new ArrayList<CompletableFuture<Generation>>();
    for (int i = 0; i < sessions.size(); i++) {
      var request = request(i, tokens).session(sessions.get(i));
      calls.add(athanor.async().generate(model, request, counter("tokens of two sessions")));
    }
    var generations = calls.stream().map(Demo::await).toList();
    return new DemoReport.Run(generations, Duration.ofNanos(System.nanoTime() - began));
  }

  private static Generation await(CompletableFuture<Generation> call) {
    try {
      return call.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof AthanorException failure ? failure : e;
    }
  }

  private DemoReport.Run again(int tokens) {
    long began = System.nanoTime();
    var generations = new ArrayList<Generation>();
    for (int i = 0; i < PROMPTS.size(); i++) {
      generations.add(
          athanor.generate(model, request(i, tokens), counter("tokens with the same seeds")));
    }
    return new DemoReport.Run(generations, Duration.ofNanos(System.nanoTime() - began));
  }

  /** Runs another token in a copy of a session, after one that the service plans a graph for. */
  private StepTimes step(String session) throws InterruptedException {
    var copy = athanor.forkSession(model, session).id();
    var request =
        Map.of(
            "session", copy,
            "inputs",
                Map.of(
                    "tokens",
                    Map.of("dtype", "i64", "shape", List.of(1, 1), "data", List.of((int) ' '))),
            "outputs", Map.of("next", Map.of()));
    var body = new JsonMapper().writeValueAsBytes(request);
    var path = "/models/%s/run".formatted(model);
    target.post(path, body);
    return StepTimes.of(target.post(path, body));
  }

  /**
   * Returns the bytes of the model's tensors.
   *
   * @param weights those of the weights, which have the name of the model; else of the caches,
   *     which have the scope of the weights
   */
  private long bytes(boolean weights) {
    var all = athanor.tensors();
    var scopes = all.stream().filter(this::isWeight).map(TensorInfo::scope).distinct().toList();
    return all.stream()
        .filter(tensor -> scopes.contains(tensor.scope()) && isWeight(tensor) == weights)
        .mapToLong(TensorInfo::bytes)
        .sum();
  }

  private boolean isWeight(TensorInfo tensor) {
    return tensor.name().equals(Optional.of(model));
  }
}
