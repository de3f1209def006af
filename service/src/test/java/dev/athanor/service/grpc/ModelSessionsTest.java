package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import dev.athanor.api.v1.CreateSessionRequest;
import dev.athanor.api.v1.DeleteModelRequest;
import dev.athanor.api.v1.DeleteSessionRequest;
import dev.athanor.api.v1.DescribeModelRequest;
import dev.athanor.api.v1.DescribeSessionRequest;
import dev.athanor.api.v1.ForkSessionRequest;
import dev.athanor.api.v1.GenerateEnd;
import dev.athanor.api.v1.GenerateRequest;
import dev.athanor.api.v1.GenerateResponse;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.ListSessionsRequest;
import dev.athanor.api.v1.ModelsGrpc;
import dev.athanor.api.v1.ModelsGrpc.ModelsBlockingStub;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.PutModelHeader;
import dev.athanor.api.v1.RunModelRequest;
import dev.athanor.api.v1.Session;
import dev.athanor.api.v1.SetDefaultRequest;
import dev.athanor.api.v1.TensorData;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.model.SmallModels;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/** Tests sessions, generation and versions of models over gRPC, with a small decoder. */
@SpringBootTest(classes = AthanorApplication.class, properties = "athanor.device=emulator:0")
class ModelSessionsTest {

  private static final String MODEL = "llama";
  private static final int POSITIONS = 4096;

  @Autowired private GrpcServerLifecycle server;

  /** What a test does with the stored model. */
  private interface Client {
    void call(ModelsBlockingStub models) throws Throwable;
  }

  private void stored(Client client) throws Throwable {
    stored(1, client);
  }

  private void stored(int versions, Client client) throws Throwable {
    ModelsServiceTest.connected(
        server.getPort(),
        channel -> {
          var header = PutModelHeader.newBuilder().setName(MODEL).setContentType("application/zip");
          var messages =
              ModelsServiceTest.messages(
                  ModelsServiceTest.header(header), SmallModels.decoder(POSITIONS));
          for (int i = 0; i < versions; i++) {
            ModelsServiceTest.put(channel, messages);
          }
          var models = ModelsGrpc.newBlockingStub(channel);
          try {
            client.call(models);
          } finally {
            var _ = models.delete(DeleteModelRequest.newBuilder().setName(MODEL).build());
          }
        });
  }

  private static CreateSessionRequest.Builder create() {
    return CreateSessionRequest.newBuilder().setModel(MODEL);
  }

  private static Session session(ModelsBlockingStub models) {
    return models.createSession(create().build()).getSession();
  }

  private static Session describe(ModelsBlockingStub models, String session) {
    var request = DescribeSessionRequest.newBuilder().setModel(MODEL).setSession(session);
    return models.describeSession(request.build()).getSession();
  }

  private static RunModelRequest.Builder run(String session, long... tokens) {
    var data = ByteBuffer.allocate(8 * tokens.length).order(ByteOrder.LITTLE_ENDIAN);
    data.asLongBuffer().put(tokens);
    var input =
        TensorData.newBuilder()
            .setDtype("i64")
            .addShape(1)
            .addShape(tokens.length)
            .setData(ByteString.copyFrom(data));
    return RunModelRequest.newBuilder()
        .setName(MODEL)
        .setSession(session)
        .putInputs("tokens", InputTensor.newBuilder().setInline(input).build());
  }

  /** Returns the most probable token after some tokens. */
  private static long next(ModelsBlockingStub models, String session, long... tokens) {
    var request =
        run(session, tokens).putOutputs("next", OutputTarget.getDefaultInstance()).build();
    var logits =
        models
            .run(request)
            .getOutputsOrThrow("next")
            .getInline()
            .getData()
            .asReadOnlyByteBuffer()
            .order(ByteOrder.LITTLE_ENDIAN)
            .asFloatBuffer();
    return IntStream.range(0, logits.remaining())
        .reduce((a, b) -> logits.get(b) > logits.get(a) ? b : a)
        .orElseThrow();
  }

  private static GenerateRequest.Builder generate(long... tokens) {
    var request = GenerateRequest.newBuilder().setModel(MODEL);
    LongStream.of(tokens).forEach(request::addTokens);
    return request;
  }

  /** The messages of a generation. */
  private record Generated(List<Long> tokens, GenerateEnd end) {}

  private static Generated generated(ModelsBlockingStub models, GenerateRequest.Builder request) {
    Iterator<GenerateResponse> messages = models.generate(request.build());
    var tokens = new ArrayList<Long>();
    var message = messages.next();
    while (message.hasToken()) {
      tokens.add(message.getToken());
      message = messages.next();
    }
    assertThat(message.hasEnd()).isTrue();
    assertThat(messages.hasNext()).isFalse();
    return new Generated(tokens, message.getEnd());
  }

  @Test
  void sessionsKeepTheStateOfAModel() throws Throwable {
    stored(models -> {
      var session = session(models);
      assertThat(session.getModel()).isEqualTo(MODEL);
      assertThat(session.getLength()).isZero();
      assertThat(session.hasExpiresAt()).isTrue();
      var id = session.getSession();
      var greedy = generated(models, generate(3, 1, 4, 1, 5).setTemperature(0).setMaxTokens(2));
      assertThat(next(models, id, 3, 1, 4, 1, 5)).isEqualTo(greedy.tokens().get(0));
      assertThat(describe(models, id).getLength()).isEqualTo(5);

      var fork =
          models
              .forkSession(ForkSessionRequest.newBuilder().setModel(MODEL).setSession(id).build())
              .getSession();
      assertThat(fork.getLength()).isEqualTo(5);
      for (var each : List.of(id, fork.getSession())) {
        assertThat(next(models, each, greedy.tokens().get(0))).isEqualTo(greedy.tokens().get(1));
      }
      var list = ListSessionsRequest.newBuilder().setModel(MODEL).build();
      assertThat(models.listSessions(list).getSessionsList())
          .extracting(Session::getSession)
          .containsExactlyInAnyOrder(id, fork.getSession());

      var delete = DeleteSessionRequest.newBuilder().setModel(MODEL).setSession(id).build();
      assertThat(models.deleteSession(delete).isInitialized()).isTrue();
      assertThatThrownBy(() -> describe(models, id))
          .hasMessageStartingWith(
              "NOT_FOUND: There is no session \"%s\" of this model.".formatted(id));
      assertThatThrownBy(() -> models.run(run(id, 1).build())).hasMessageStartingWith("NOT_FOUND");
    });
  }

  @Test
  void leasesAreWholeSecondsAndZeroHasNoEnd() throws Throwable {
    stored(models -> {
      var forever = create().setLease(Duration.getDefaultInstance()).build();
      assertThat(models.createSession(forever).getSession().hasExpiresAt()).isFalse();
      var negative = create().setLease(Duration.newBuilder().setSeconds(-1)).build();
      assertThatThrownBy(() -> models.createSession(negative))
          .hasMessageStartingWith("INVALID_ARGUMENT: lease is -1 s; it must be an integer 0 to");
      assertThatThrownBy(() ->
              models.createSession(CreateSessionRequest.newBuilder().setModel("none").build()))
          .hasMessageStartingWith("NOT_FOUND: There is no model \"none\".");
    });
  }

  /** A call that is sent twice with one key runs once. */
  @Test
  void repeatedRunsDoNotAdvanceASessionTwice() throws Throwable {
    stored(models -> {
      var id = session(models).getSession();
      var request =
          run(id, 1, 2)
              .putOutputs("next", OutputTarget.newBuilder().setKeep(true).build())
              .setIdempotencyKey("once")
              .build();
      assertThat(models.run(request).getOutputsMap())
          .isEqualTo(models.run(request).getOutputsMap());
      assertThat(describe(models, id).getLength()).isEqualTo(2);
    });
  }

  @Test
  void tokensAreStreamed() throws Throwable {
    stored(models -> {
      var once = generated(models, generate(1, 2, 3).setMaxTokens(4).setTopK(20).setTopP(0.9));
      assertThat(once.tokens()).hasSize(4);
      assertThat(once.end().getReason()).isEqualTo("length");
      assertThat(once.end().getLength()).isEqualTo(7);
      long seed = once.end().getSeed();
      var sampled =
          generate(1, 2, 3).setMaxTokens(4).setTopK(20).setTopP(0.9).setMinP(0).setSeed(seed);
      assertThat(generated(models, sampled)).isEqualTo(once);
      var stopped = generated(models, sampled.addStop(once.tokens().get(1)));
      assertThat(stopped.end().getReason()).isEqualTo("stop");
      assertThat(once.tokens()).startsWith(stopped.tokens().toArray(Long[]::new));
      assertThat(stopped.tokens()).last().isEqualTo(once.tokens().get(1));

      var id = session(models).getSession();
      var first = generate(1, 2, 3).setTemperature(0).setSession(id).setMaxTokens(3);
      assertThat(generated(models, first).end().getLength()).isEqualTo(6);
      assertThat(describe(models, id).getLength()).isEqualTo(6);
    });
  }

  /** The generation would take thousands of tokens; it ends with the call that asks for it. */
  @Test
  void cancelingTheCallStopsTheGeneration() throws Throwable {
    stored(models -> {
      var id = session(models).getSession();
      var context = Context.current().withCancellation();
      context.run(() -> {
        var messages = models.generate(generate(1).setSession(id).setMaxTokens(4000).build());
        assertThat(messages.next().hasToken()).isTrue();
        assertThatThrownBy(() -> generated(models, generate(1).setSession(id)))
            .hasMessageStartingWith("FAILED_PRECONDITION: another call uses the session " + id);
      });
      context.cancel(null);
      var after = free(models, id);
      assertThat(after.tokens()).hasSize(1);
      assertThat(after.end().getLength()).isLessThan(4000);
    });
  }

  /** Generates a token as soon as no other call uses the session. */
  private static Generated free(ModelsBlockingStub models, String session)
      throws InterruptedException {
    while (true) {
      try {
        return generated(models, generate(1).setSession(session).setMaxTokens(1));
      } catch (StatusRuntimeException e) {
        assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.FAILED_PRECONDITION);
        Thread.sleep(10);
      }
    }
  }

  @Test
  void refusesBadRequestsToGenerate() throws Throwable {
    stored(models -> {
      assertThatThrownBy(() -> generated(models, generate()))
          .hasMessage("INVALID_ARGUMENT: tokens is missing; give the token ids of the prompt");
      assertThatThrownBy(() -> generated(models, generate(1, -2)))
          .hasMessage("INVALID_ARGUMENT: tokens has -2; a token id is at least 0");
      assertThatThrownBy(() -> generated(models, generate(1).addStop(-3)))
          .hasMessage("INVALID_ARGUMENT: stop has -3; a token id is at least 0");
      assertThatThrownBy(() -> generated(models, generate(1).setMaxTokens(0)))
          .hasMessage("INVALID_ARGUMENT: max_tokens is 0; it must be 1 to 65536");
      var stops = LongStream.range(0, 257).boxed().toList();
      assertThatThrownBy(() -> generated(models, generate(1).addAllStop(stops)))
          .hasMessage("RESOURCE_EXHAUSTED: stop has more than 256 elements, which is the limit");
      assertThatThrownBy(() -> generated(models, generate(new long[(1 << 20) + 1])))
          .hasMessage(
              "RESOURCE_EXHAUSTED: tokens has more than 1048576 elements, which is the limit");
      assertThatThrownBy(() -> generated(models, generate(1).setTemperature(-1)))
          .hasMessageStartingWith(
              "INVALID_ARGUMENT: attribute \"temperature\" must be at least 0, got -1.0");
      assertThatThrownBy(() -> generated(models, generate(1).setSession("s_0")))
          .hasMessageStartingWith("NOT_FOUND: There is no session \"s_0\"");
      assertThatThrownBy(() -> generated(models, generate(1).setModel("none")))
          .hasMessageStartingWith("NOT_FOUND: There is no model \"none\".");
    });
  }

  @Test
  void versionsAreListedAndOneIsTheDefault() throws Throwable {
    stored(
        2,
        models -> {
          var describe = DescribeModelRequest.newBuilder().setName(MODEL).build();
          var stored = models.describe(describe).getModel();
          assertThat(stored.getVersionsList()).hasSize(2).last().isEqualTo(stored.getVersion());
          long older = stored.getVersions(0);
          var request = SetDefaultRequest.newBuilder().setName(MODEL).setVersion(older).build();
          assertThat(models.setDefault(request).getModel().getVersion()).isEqualTo(older);
          assertThat(models.describe(describe).getModel().getVersion()).isEqualTo(older);
          assertThat(session(models).getVersion()).isEqualTo(older);
          var newer = MODEL + "@" + stored.getVersion();
          var session = models.createSession(create().setModel(newer).build()).getSession();
          assertThat(session.getVersion()).isEqualTo(stored.getVersion());
          assertThat(
                  generated(
                          models,
                          generate(1)
                              .setModel(newer)
                              .setSession(session.getSession())
                              .setMaxTokens(1))
                      .tokens())
              .hasSize(1);
          var missing = SetDefaultRequest.newBuilder().setName(MODEL).setVersion(99).build();
          assertThatThrownBy(() -> models.setDefault(missing)).hasMessageStartingWith("NOT_FOUND");
        });
  }
}
