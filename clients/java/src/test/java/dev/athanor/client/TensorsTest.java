package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.client.ops.Activation;
import dev.athanor.testing.TestTier;
import dev.athanor.testing.Timeouts;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests tensors, pipelines and errors with a live service, over both transports. */
@ParameterizedClass
@MethodSource("dev.athanor.client.LiveService#urls")
@Tag(TestTier.THOROUGH_TAG)
class TensorsTest {

  private static final HostTensor MATRIX = HostTensor.of(new float[] {1, 2, 3, 4}, 2, 2);

  @Parameter String url = "";

  private Athanor athanor = Athanor.connect("http://127.0.0.1:1");

  @BeforeEach
  void connect() {
    athanor = Athanor.connect(url);
  }

  @AfterEach
  void close() {
    athanor.close();
  }

  @Test
  void keepsWeightsOnTheDevice() {
    try (var w = athanor.upload(HostTensor.of(new float[] {1, 0, 0, 1}, 2, 2));
        var c = athanor.matmul(MATRIX, w)) {
      assertThat(c.shape()).containsExactly(2L, 2L);
      assertThat(c.dtype()).isEqualTo(DType.F32);
      assertThat(c.byteSize()).isEqualTo(16);
      assertThat(c.download().toFloats()).containsExactly(1, 2, 3, 4);
      assertThat(athanor.ready()).isTrue();
    }
  }

  @Test
  void acceptsTensorsWithoutElements() {
    var empty = HostTensor.of(new float[0], 0, 2);
    try (var x = athanor.upload(empty);
        var c = athanor.matmul(x, MATRIX)) {
      assertThat(c.shape()).containsExactly(0L, 2L);
      assertThat(c.download().toFloats()).isEmpty();
      c.update(empty);
      assertThat(c.describe().version()).isEqualTo(2);
    }
    assertThat(athanor.inline().reduce(empty, o -> o.axis(0)).toFloats()).containsExactly(0, 0);
  }

  @Test
  void storesTensorsUnderNames() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> athanor.store("t_w", MATRIX))
        .withMessageStartingWith("Invalid name \"t_w\": a name has 1 to 128 letters");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> athanor.store("w", MATRIX, o -> o.replicas(0)))
        .withMessage("A tensor cannot be stored on 0 replicas; store it on at least 1.");
    try (var stored =
        athanor.store(
            "w", MATRIX, o -> o.allReplicas().scope("job7").lease(Duration.ofMinutes(5)))) {
      assertThat(stored.handle()).isEqualTo("w");
      assertThat(stored.describe().replicas()).hasSize(1);
      assertThat(stored.describe().scope()).contains("job7");
      assertThat(stored.describe().expiresAt()).isPresent();
      assertThatExceptionOfType(AthanorException.class)
          .isThrownBy(() -> athanor.store("w", MATRIX, o -> o.replicas(2)))
          .withMessageContaining("the maximum number of replicas");
      athanor.store("w", MATRIX);
      assertThat(stored.describe().expiresAt()).isEmpty();
      var w = athanor.attach("w");
      assertThat(w.handle()).isEqualTo("w");
      assertThat(athanor.inline().relu(w).toFloats()).containsExactly(1, 2, 3, 4);
      var p = athanor.pipeline();
      var y = p.relu(w);
      assertThat(p.run().values(y).toFloats()).containsExactly(1, 2, 3, 4);
      assertThatExceptionOfType(AthanorException.class)
          .isThrownBy(() -> w.update(MATRIX))
          .withMessageContaining("PUT /tensors/w replaces it");
      stored.delete();
      assertThatExceptionOfType(AthanorException.class)
          .isThrownBy(() -> athanor.attach("w"))
          .satisfies(e -> assertThat(e.code()).isEqualTo("unknown-handle"));
    }
  }

  @Test
  void reportsTheServicesTiming() {
    var timings = new ArrayList<Timing>();
    athanor.matmul(MATRIX, MATRIX, o -> o.timing(timings::add)).close();
    athanor.inline().run(OpCall.of("relu").input("x", MATRIX).output("y").timing(timings::add));
    assertThat(timings)
        .hasSize(2)
        .allSatisfy(timing -> {
          assertThat(timing.kernel()).isPositive();
          assertThat(timing.total())
              .isGreaterThanOrEqualTo(timing.kernel().plus(timing.queue()).plus(timing.upload()));
        });
  }

  @Test
  void describesTheService() {
    assertThat(athanor.version()).matches("\\d+\\.\\d+\\.\\d+\\S*");
    if (url.startsWith("grpc")) {
      assertThatExceptionOfType(UnsupportedOperationException.class)
          .isThrownBy(athanor::devices)
          .withMessage(
              "The service reports its devices over HTTP only; connect to its http:// or https:// URL.");
    } else {
      assertThat(athanor.devices())
          .singleElement()
          .satisfies(device -> {
            assertThat(device.id()).isEqualTo("emulator:0");
            assertThat(device.health()).isEqualTo("ready");
            assertThat(device.memory().free()).isPositive();
          });
      assertThat(athanor.metrics()).contains("athanor_streams_busy");
    }
  }

  @Test
  void reportsDeviceAndKernel() {
    var executions = new ArrayList<Execution>();
    var call = OpCall.of("matmul").input("a", MATRIX).input("b", MATRIX);
    call.output("c").execution(executions::add);
    athanor.inline().run(call);
    athanor.run(call).values().forEach(Tensor::close);
    assertThat(executions)
        .hasSize(2)
        .allSatisfy(execution -> {
          assertThat(execution.device()).isEqualTo("emulator:0");
          assertThat(execution.kernel()).startsWith("matmul_f32_");
        });
  }

  @Test
  void rejectsInvalidHandles() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> athanor.attach("w?scope=a"))
        .withMessageStartingWith("Invalid handle \"w?scope=a\": ");
  }

  @Test
  void uploadsEveryKindOfArrayAndBuffer() {
    var direct = ByteBuffer.allocateDirect(8).order(ByteOrder.LITTLE_ENDIAN);
    direct.putFloat(0, 1).putFloat(4, 2);
    var tensors =
        List.of(
            HostTensor.of(new float[] {1, 2}),
            HostTensor.of(new double[] {1, 2}),
            HostTensor.of(new int[] {1, 2}),
            HostTensor.of(new long[] {1, 2}),
            HostTensor.of(DType.U32, new int[] {1, -2}),
            HostTensor.of(DType.BF16, new short[] {0x3f80, 0x4000}),
            HostTensor.of(DType.I8, new byte[] {1, -2}),
            HostTensor.of(DType.Q8_0, new byte[34], 1, 32),
            HostTensor.of(DType.F32, direct),
            HostTensor.scalar(3));
    for (var tensor : tensors) {
      try (var resident = athanor.upload(tensor)) {
        var back = resident.download();
        assertThat(back.dtype()).isEqualTo(tensor.dtype());
        assertThat(back.shape()).isEqualTo(tensor.shape());
        assertThat(back.toBytes()).isEqualTo(tensor.toBytes());
      }
    }
    assertThat(tensors.get(5).toFloats()).containsExactly(1, 2);
  }

  @Test
  void transfersTensorsLargerThanAChunk() {
    var values = new float[1_000_003];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    try (var tensor = athanor.upload(HostTensor.of(values))) {
      assertThat(tensor.download().toFloats()).isEqualTo(values);
      var part = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
      tensor.download(4_000_000, part);
      assertThat(part.getFloat(0)).isEqualTo(1_000_000f);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> tensor.download(4_000_008, part))
          .withMessage(
              "The range of 8 bytes from 4000008 is empty or not within the tensor's 4000012 bytes.");
      assertThat(athanor.inline().relu(HostTensor.of(values)).toFloats()).isEqualTo(values);
    }
  }

  @Test
  void updatesInPlaceIfTheVersionMatches() {
    try (var tensor = athanor.upload(HostTensor.of(new float[] {1, 2}))) {
      assertThat(tensor.version()).isEqualTo(1);
      tensor.update(HostTensor.of(new float[] {3, 4}), 1);
      assertThat(tensor.version()).isEqualTo(2);
      assertThat(tensor.download().toFloats()).containsExactly(3, 4);
      assertThatExceptionOfType(AthanorException.class)
          .isThrownBy(() -> tensor.update(HostTensor.of(new float[] {5, 6}), 1))
          .satisfies(e -> {
            assertThat(e.code()).isEqualTo("version-mismatch");
            assertThat(e.status()).isEqualTo(412);
          });
      assertThat(athanor.add(tensor, tensor, o -> o.intoY(tensor))).isSameAs(tensor);
      assertThat(tensor.version()).isEqualTo(3);
      assertThat(tensor.download().toFloats()).containsExactly(6, 8);
    }
  }

  @Test
  void reshapesWithoutACopy() {
    try (var tensor = athanor.upload(HostTensor.of(new float[] {1, 2, 3, 4}))) {
      var product = athanor.inline().matmul(tensor.reshape(1, 4), tensor.reshape(4, 1));
      assertThat(product.toFloats()).containsExactly(30);
      assertThat(athanor.inline().matmul(tensor.reshape(2, 2), MATRIX).toFloats())
          .containsExactly(7, 10, 15, 22);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> tensor.reshape(3))
          .withMessage("Cannot reshape [4] to [3]: the numbers of elements differ.");
    }
  }

  @Test
  void readsParts() {
    try (var tensor = athanor.upload(HostTensor.of(new float[] {1, 2, 3, 4, 5, 6}))) {
      var columns = tensor.view(new long[] {3, 2}, 0, 1, 3);
      assertThat(athanor.inline().scale(columns).toFloats()).containsExactly(1, 4, 2, 5, 3, 6);
      assertThat(athanor.inline().scale(tensor.view(new long[] {2}, 4)).toFloats())
          .containsExactly(5, 6);
      var p = athanor.pipeline();
      var twice = p.scale(columns, o -> o.factor(2));
      var part = p.scale(twice.reshape(2, 3));
      var rest = p.scale(twice.view(new long[] {1, 2}, 1));
      var result = p.inline(part).inline(rest).run();
      assertThat(result.values(part).toFloats()).containsExactly(2, 8, 4, 10, 6, 12);
      assertThat(result.values(rest).toFloats()).containsExactly(8, 4);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> tensor.view(new long[] {2, 3}, 0, 1))
          .withMessage("A view of 2 dimensions needs as many strides, or none, but has 1.");
      assertThatExceptionOfType(UnsupportedOperationException.class)
          .isThrownBy(() -> columns.reshape(6))
          .withMessage("A view with strides cannot be reshaped.");
    }
  }

  @Test
  void listsAndDeletesAScope() {
    var scope = UUID.randomUUID().toString();
    var first = athanor.upload(MATRIX, o -> o.scope(scope).name("first"));
    var second = athanor.upload(MATRIX, o -> o.scope(scope).lease(Duration.ofHours(2)));
    var listed = athanor.tensors(scope);
    assertThat(listed)
        .extracting(TensorInfo::handle)
        .containsExactly(second.handle(), first.handle());
    assertThat(listed.get(1).name()).contains("first");
    assertThat(athanor.tensors()).extracting(TensorInfo::handle).contains(first.handle());
    athanor.deleteScope(scope);
    assertThat(athanor.tensors(scope)).isEmpty();
  }

  @Test
  void closingDeletesOwnedTensors() {
    var scope = UUID.randomUUID().toString();
    String detached;
    try (var other = Athanor.connect(url)) {
      var left = other.upload(MATRIX, o -> o.scope(scope));
      detached = other.upload(MATRIX, o -> o.scope(scope)).detach();
      try (var attached = athanor.attach(left.handle())) {
        assertThat(attached.download().toFloats()).containsExactly(1, 2, 3, 4);
      }
      assertThat(athanor.tensors(scope)).hasSize(2);
    }
    assertThat(athanor.tensors(scope)).extracting(TensorInfo::handle).containsExactly(detached);
    athanor.attach(detached).delete();
    assertThat(athanor.tensors(scope)).isEmpty();
  }

  @Test
  void rejectsClosedTensorsAndClients() {
    var tensor = athanor.upload(MATRIX);
    tensor.close();
    tensor.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> athanor.relu(tensor))
        .withMessageMatching("Tensor t_\\w+ is closed\\.");
    var other = Athanor.connect(url);
    other.close();
    other.close();
    var failure = catchThrowableOfType(AthanorException.class, () -> other.relu(MATRIX));
    assertThat(failure.code()).isEqualTo("closed");
    assertThat(failure).hasMessageContaining("The client is closed.");
  }

  @Test
  void renewsALease() {
    try (var tensor = athanor.upload(MATRIX)) {
      var before = tensor.describe().expiresAt().orElseThrow();
      assertThat(tensor.renew(Duration.ofHours(3)).expiresAt().orElseThrow())
          .isAfter(before.plusSeconds(3600));
      assertThat(tensor.renew(Duration.ZERO).expiresAt()).isEmpty();
    }
  }

  @Test
  void keepsALeaseAliveWhileATensorIsOpen() throws Exception {
    Timeouts.lengthen(
        2000,
        lease -> {
          try (var renewing = Athanor.builder(url).lease(Duration.ofMillis(lease)).build();
              var tensor = renewing.upload(MATRIX)) {
            var first = tensor.describe().expiresAt().orElseThrow();
            Waiting.until(() -> tensor.describe().expiresAt().orElseThrow().isAfter(first));
            return true;
          } catch (AthanorException e) {
            assertThat(e.code()).isEqualTo("expired-handle");
            return false; // before it could be renewed
          }
        });
  }

  @Test
  void runsPipelinesInOneRequest() {
    try (var w = athanor.upload(HostTensor.of(new float[] {1, 0, 0, -1}, 2, 2));
        var target = athanor.upload(MATRIX)) {
      var p = athanor.pipeline();
      var h = p.matmul(MATRIX, w);
      var sum = p.add(h, MATRIX);
      var z = p.relu(h);
      var all = p.run();
      assertThat(all.values(z).toFloats()).containsExactly(1, 0, 3, 0);
      assertThat(all.values(sum).toFloats()).containsExactly(2, 0, 6, 0);
      p.keep(h).into(sum, target).inline(z).deadline(Duration.ofHours(1)).priority(2);
      var result = p.run();
      try (var kept = result.tensor(h)) {
        assertThat(kept.download().toFloats()).containsExactly(1, -2, 3, -4);
      }
      assertThat(result.tensor(sum)).isSameAs(target);
      assertThat(target.download().toFloats()).containsExactly(2, 0, 6, 0);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> result.values(h))
          .withMessage("The pipeline has no such output; call inline before run.");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> athanor.relu(h))
          .withMessage("A value of a pipeline can be an input of the same pipeline only.");
    }
  }

  @Test
  void reportsTheFailedStep() {
    var p = athanor.pipeline();
    p.matmul(p.relu(MATRIX), HostTensor.of(new float[] {1}, 1, 1));
    assertThatExceptionOfType(AthanorException.class)
        .isThrownBy(p::run)
        .satisfies(e -> {
          assertThat(e.step()).hasValue(1);
          assertThat(e.op()).contains("matmul");
          assertThat(e.code()).isEqualTo("shape-mismatch");
        });
  }

  @Test
  void reportsErrorsOfTheService() {
    assertThatExceptionOfType(AthanorException.class)
        .isThrownBy(() -> athanor.inline().matmul(MATRIX, HostTensor.of(new float[] {1}, 1, 1)))
        .satisfies(e -> {
          assertThat(e.code()).isEqualTo("shape-mismatch");
          assertThat(e.status()).isEqualTo(400);
          assertThat(e.detail()).isNotBlank();
          assertThat(e.field()).isPresent();
          assertThat(e.traceId().orElseThrow()).matches("[0-9a-f]{32}");
          assertThat(e.retryAfter()).isEmpty();
          assertThat(e).hasMessage(e.detail() + " (shape-mismatch)");
          assertThat(e.getStackTrace()[0].getClassName()).startsWith("dev.athanor.client");
        });
    var gone = athanor.upload(MATRIX);
    athanor.attach(gone.handle()).delete();
    assertThatExceptionOfType(AthanorException.class)
        .isThrownBy(gone::download)
        .satisfies(e -> assertThat(e.status()).isIn(404, 410));
  }

  @Test
  void callsByName() {
    var call = OpCall.of("scale").input("x", MATRIX).attribute("factor", 2.0).output("y");
    try (var y = Objects.requireNonNull(athanor.run(call).get("y"))) {
      assertThat(y.download().toFloats()).containsExactly(2, 4, 6, 8);
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> athanor.run(OpCall.of("relu").input("x", MATRIX)))
        .withMessage("The call of relu requests no output; request one with output(name).");
    assertThatExceptionOfType(AthanorException.class)
        .isThrownBy(() -> athanor.run(OpCall.of("no-such-op").output("y")))
        .satisfies(e -> assertThat(e.code()).isEqualTo("unknown-op"));
  }

  @Test
  void boundsACallByItsDeadline() {
    var large = HostTensor.of(new float[256 * 256], 256, 256);
    assertThatExceptionOfType(AthanorException.class)
        .isThrownBy(
            () -> athanor.inline().matmul(large, large, o -> o.deadline(Duration.ofMillis(1))))
        .satisfies(e -> {
          assertThat(e.code()).isEqualTo("deadline-exceeded");
          assertThat(e.status()).isEqualTo(504);
        });
  }

  @Test
  void runsManyCallsAtOnce() {
    try (var w = athanor.upload(MATRIX)) {
      var calls = new ArrayList<CompletableFuture<HostTensor>>();
      IntStream.range(0, 64)
          .forEach(i -> {
            var x = HostTensor.of(new float[] {i, 0}, 1, 2);
            calls.add(athanor.async().inline().matmul(x, w, o -> o.activation(Activation.NONE)));
          });
      for (int i = 0; i < calls.size(); i++) {
        assertThat(calls.get(i).join().toFloats()).containsExactly(i, 2 * i);
      }
    }
  }
}
