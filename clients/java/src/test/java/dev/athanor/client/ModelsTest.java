package dev.athanor.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.athanor.api.v1.GenerateResponse;
import dev.athanor.testing.CheckpointFiles;
import dev.athanor.testing.OnnxFiles;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import java.util.zip.ZipInputStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests stored models. */
class ModelsTest {

  private static final long[] TOKENS = {5, 9, 2, 17, 4, 3, 3, 28, 6, 1};
  private static final int LOGITS = 2 * 5 * 30;

  private static final String POSITIONS = "\"max_position_embeddings\": 24";

  /** Far more tokens than are generated until a test cancels. */
  private static final int MANY = 10_000;

  private static byte[] file(String name) {
    return Objects.requireNonNull(
        Objects.requireNonNull(OnnxFiles.models().get("llama")).get(name));
  }

  /** Returns the elements of a message, which are its last field. */
  private static float[] elements(byte[] message) {
    var values = new float[LOGITS];
    FloatBuffer all =
        ByteBuffer.wrap(message, message.length - 4 * LOGITS, 4 * LOGITS)
            .order(ByteOrder.LITTLE_ENDIAN)
            .asFloatBuffer();
    all.get(values);
    return values;
  }

  @ParameterizedTest
  @MethodSource("dev.athanor.client.LiveService#urls")
  void storesListsRunsAndDeletesAModel(String url) {
    try (var athanor = Athanor.connect(url)) {
      var stored = athanor.storeModel("llama-java", file("model"));
      assertThat(stored.inputs())
          .containsExactly(new ModelInfo.Input("x", "i64", List.of("2", "5")));
      assertThat(stored.outputs()).containsExactly("y");
      assertThat(athanor.models()).contains(stored);
      try (var tokens = athanor.upload(HostTensor.of(TOKENS, 2, 5));
          var y =
              Objects.requireNonNull(
                  athanor.runModel("llama-java", Map.of("x", tokens), List.of("y")).get("y"))) {
        assertThat(y.shape()).containsExactly(2L, 5L, 30L);
        assertThat(y.download().toFloats())
            .containsExactly(elements(file("output0")), Offset.offset(1e-3f));
      }
      athanor.deleteModel("llama-java");
      assertThatThrownBy(() ->
              athanor.runModel(
                  "llama-java", Map.of("x", HostTensor.of(TOKENS, 2, 5)), List.of("y")))
          .isInstanceOf(AthanorException.class)
          .hasMessageContaining("There is no model \"llama-java\"");
      assertThatThrownBy(() -> athanor.storeModel("a/b", new byte[0]))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "The name is \"a/b\"; a model's has 1 to 64 letters, digits, periods, hyphens and underscores, and begins with a letter or a digit.");
    }
  }

  @TempDir Path folder;

  /** Writes a checkpoint of a small decoder into the folder, and returns it. */
  private Path checkpoint() throws IOException {
    var files = Objects.requireNonNull(CheckpointFiles.all().get("llama"));
    Files.write(
        folder.resolve("model.safetensors"),
        Objects.requireNonNull(files.get("model.safetensors")));
    var config = new String(Objects.requireNonNull(files.get("config.json")), UTF_8);
    assertThat(config).contains(POSITIONS);
    Files.writeString(folder.resolve("config.json"), config.replace(POSITIONS, POSITIONS + "000"));
    return folder;
  }

  /** Returns the names of the files of a zip and their sizes. */
  private static Map<String, Integer> entries(InputStream zip) throws IOException {
    var entries = new LinkedHashMap<String, Integer>();
    try (var in = new ZipInputStream(zip)) {
      for (var entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
        entries.put(entry.getName(), in.readAllBytes().length);
      }
    }
    return entries;
  }

  @Test
  void zipsAFolderWithoutItsHiddenFiles() throws IOException {
    Files.createDirectories(folder.resolve("onnx"));
    Files.createDirectories(folder.resolve(".git"));
    Files.write(folder.resolve("onnx/model.onnx"), new byte[200_000]);
    Files.write(folder.resolve("config.json"), new byte[0]);
    Files.write(folder.resolve(".gitattributes"), new byte[3]);
    Files.write(folder.resolve(".git/HEAD"), new byte[3]);
    var expected = Map.of("config.json", 0, "onnx/model.onnx", 200_000);
    assertThat(entries(ModelFile.of(folder).open())).containsExactlyInAnyOrderEntriesOf(expected);
    try (var body = ModelFile.of(folder).open()) {
      var bytes = new ByteArrayOutputStream();
      for (int next = body.read(); next >= 0; next = body.read()) {
        bytes.write(next);
      }
      assertThat(entries(new ByteArrayInputStream(bytes.toByteArray())))
          .containsExactlyInAnyOrderEntriesOf(expected);
    }
    assertThatThrownBy(() -> ModelFile.of(folder.resolve("none.onnx")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("Cannot read file or folder %s.", folder.resolve("none.onnx"));
  }

  @ParameterizedTest
  @MethodSource("dev.athanor.client.LiveService#urls")
  void storesFoldersZipsAndFiles(String url) throws IOException {
    var onnx = Files.write(folder.resolve("decoder.onnx"), file("model"));
    var zip = Files.createTempFile("athanor-", ".zip");
    try (var athanor = Athanor.connect(url)) {
      assertThat(athanor.storeModel("path-java", onnx).outputs()).containsExactly("y");
      Files.delete(onnx);
      assertThat(athanor.storeModel("path-java", checkpoint()).outputs())
          .containsExactly("logits", "next");
      try (var body = ModelFile.of(folder).open()) {
        Files.copy(body, zip, StandardCopyOption.REPLACE_EXISTING);
      }
      assertThat(athanor.storeModel("path-java", zip).inputs())
          .containsExactly(new ModelInfo.Input("tokens", "i64", List.of("batch", "sequence")));
      athanor.deleteModel("path-java");
    } finally {
      Files.delete(zip);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.athanor.client.LiveService#urls")
  void runsGeneratesAndForksInSessions(String url) throws IOException {
    try (var athanor = Athanor.connect(url)) {
      long version = athanor.storeModel("sessions-java", checkpoint()).version();
      var session = athanor.createSession("sessions-java", Duration.ZERO);
      assertThat(session)
          .isEqualTo(
              new SessionInfo(session.id(), "sessions-java", version, 0, 0, Optional.empty()));
      var request = GenerateRequest.of(3, 1, 4, 1, 5).session(session.id()).maxTokens(4).seed(7);
      var arrived = new ArrayList<Long>();
      var first = athanor.generate("sessions-java", request.topK(5), arrived::add);
      assertThat(first).isEqualTo(new Generation(arrived, "length", 7, 9));
      assertThat(arrived).hasSize(4);

      var fork = athanor.forkSession("sessions-java", session.id());
      assertThat(fork.length()).isEqualTo(9);
      assertThat(fork.expires()).isEmpty();
      try (var next = run(athanor, session.id())) {
        assertThat(next.shape()).containsExactly(1L, 30L);
        try (var same = run(athanor, fork.id())) {
          assertThat(same.download().toFloats()).isEqualTo(next.download().toFloats());
        }
      }
      assertThat(athanor.sessions("sessions-java"))
          .extracting(SessionInfo::id, SessionInfo::length)
          .containsExactlyInAnyOrder(tuple(session.id(), 11), tuple(fork.id(), 11));
      athanor.deleteSession("sessions-java", fork.id());
      var leased = athanor.createSession("sessions-java@" + version);
      assertThat(leased.expires()).isPresent();
      athanor.deleteSession("sessions-java", leased.id());
      assertThat(athanor.sessions("sessions-java")).hasSize(1);
      assertThatThrownBy(() -> run(athanor, fork.id()))
          .isInstanceOfSatisfying(
              AthanorException.class, e -> assertThat(e.field()).contains("session"));

      var stopped =
          athanor.generate(
              "sessions-java",
              GenerateRequest.of(List.of(1L, 2L))
                  .seed(8)
                  .temperature(0.5)
                  .topP(0.9)
                  .minP(0.01)
                  .maxTokens(500)
                  .stop(LongStream.range(0, 30).toArray()));
      assertThat(stopped.reason()).isEqualTo("stop");
      assertThat(stopped.tokens()).hasSize(1);
      assertThatThrownBy(
              () -> athanor.generate("sessions-java", GenerateRequest.of(1).temperature(-1)))
          .isInstanceOfSatisfying(
              AthanorException.class, e -> assertThat(e.field()).contains("temperature"));
      assertThatThrownBy(() -> athanor.deleteSession("sessions-java", "a/b"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "Invalid session ID \"a/b\": IDs have letters, digits, periods, hyphens and underscores, and start with a letter or digit.");
      athanor.deleteModel("sessions-java");
    }
  }

  private static Tensor run(Athanor athanor, String session) {
    var tokens = HostTensor.of(new long[] {6, 2}, 1, 2);
    var outputs =
        athanor.runModel("sessions-java", session, Map.of("tokens", tokens), List.of("next"));
    return Objects.requireNonNull(outputs.get("next"));
  }

  /** Each of three ways to end a generation leaves its session shorter than was asked for. */
  @ParameterizedTest
  @MethodSource("dev.athanor.client.LiveService#urls")
  void cancellingEndsTheGeneration(String url) throws Exception {
    try (var athanor = Athanor.connect(url)) {
      athanor.storeModel("cancel-java", checkpoint());
      var ended = athanor.createSession("cancel-java").id();
      assertThatThrownBy(() ->
              athanor.generate(
                  "cancel-java",
                  GenerateRequest.of(1).session(ended).maxTokens(MANY),
                  token -> {
                    throw new IllegalStateException("enough");
                  }))
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("enough");

      var cancelled = athanor.createSession("cancel-java").id();
      var three = new CountDownLatch(3);
      var generation =
          athanor
              .async()
              .generate(
                  "cancel-java",
                  GenerateRequest.of(1).session(cancelled).maxTokens(MANY),
                  token -> three.countDown());
      three.await();
      assertThat(generation.cancel(true)).isTrue();

      var interrupted = athanor.createSession("cancel-java").id();
      var caller = Thread.currentThread();
      assertThatThrownBy(() ->
              athanor.generate(
                  "cancel-java",
                  GenerateRequest.of(1).session(interrupted).maxTokens(MANY),
                  token -> caller.interrupt()))
          .isInstanceOfSatisfying(
              AthanorException.class, e -> assertThat(e.code()).isEqualTo("interrupted"));
      assertThat(Thread.interrupted()).isTrue();

      for (var session : List.of(ended, cancelled, interrupted)) {
        assertThat(length(athanor, session)).isLessThan(MANY);
      }
      athanor.deleteModel("cancel-java");
    }
  }

  /** Waits until a session is not in use and returns its length. */
  private static int length(Athanor athanor, String session) {
    var length = new AtomicInteger();
    Waiting.until(() -> {
      try {
        var request = GenerateRequest.of(1).session(session).maxTokens(1);
        length.set(athanor.generate("cancel-java", request).length());
        return true;
      } catch (AthanorException e) {
        assertThat(e.code()).isEqualTo("handle-in-use");
        return false;
      }
    });
    return length.get();
  }

  private static FakeServer.Answer events(String... events) {
    var text = new StringBuilder();
    for (var event : events) {
      int space = event.indexOf(' ');
      text.append("event: ")
          .append(event, 0, space)
          .append("\ndata: ")
          .append(event.substring(space + 1))
          .append("\n\n");
    }
    return FakeServer.json(200, text.toString(), "Content-Type", "text/event-stream");
  }

  @Test
  void failuresAreRetriedOnlyBeforeTheFirstEvent() {
    var end = "end {\"reason\": \"length\", \"seed\": 3, \"length\": 2}";
    try (var server =
            new FakeServer(
                FakeServer.problem(429, "queue-full", ""),
                events("token {\"token\": 17}", "later {}", end));
        var athanor = Athanor.connect(server.url())) {
      assertThat(athanor.generate("m", GenerateRequest.of(1)))
          .isEqualTo(new Generation(List.of(17L), "length", 3, 2));
      assertThat(server.requests).hasSize(2);
    }
    var failure =
        "error {\"type\": \"urn:athanor:problem:quota-exceeded\", \"status\": 429, \"detail\": \"Full.\"}";
    try (var server = new FakeServer(events("token {\"token\": 17}", failure));
        var athanor = Athanor.connect(server.url())) {
      assertThatThrownBy(() -> athanor.generate("m", GenerateRequest.of(1)))
          .isInstanceOfSatisfying(
              AthanorException.class,
              e -> {
                assertThat(e.code()).isEqualTo("quota-exceeded");
                assertThat(e.status()).isEqualTo(429);
                assertThat(e.detail()).isEqualTo("Full.");
              });
      assertThat(server.requests).hasSize(1);
    }
    try (var server = new FakeServer(events("token {\"token\": 17}"));
        var athanor = Athanor.connect(server.url())) {
      assertThatThrownBy(() -> athanor.generate("m", GenerateRequest.of(1)))
          .isInstanceOf(AthanorException.class)
          .hasMessage("The response is malformed: the events have no end (malformed-answer)");
    }
  }

  @Test
  void grpcRetriesOnlyBeforeTheFirstToken() {
    var lost = Status.UNAVAILABLE.asRuntimeException();
    var none = new GrpcTokens(token -> {}, "grpc://h:1");
    none.onError(lost);
    assertThat(none.result).isCompletedExceptionally();
    assertThatThrownBy(none.result::join).hasCause(lost);

    var arrived = new ArrayList<Long>();
    var one = new GrpcTokens(arrived::add, "grpc://h:1");
    one.onNext(GenerateResponse.newBuilder().setToken(17).build());
    one.onNext(GenerateResponse.getDefaultInstance()); // an event of a later version
    one.onError(lost);
    assertThat(arrived).containsExactly(17L);
    assertThatThrownBy(one.result::join)
        .cause()
        .isInstanceOfSatisfying(
            AthanorException.class,
            e -> {
              assertThat(e.code()).isEqualTo(AthanorException.CONNECTION_LOST);
              assertThat(e.isFinal()).isTrue();
            });

    var cut = new GrpcTokens(token -> {}, "grpc://h:1");
    cut.onCompleted();
    assertThatThrownBy(cut.result::join).hasMessageContaining("the tokens have no end");
  }
}
