package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.inference.ModelInferRequest.InferInputTensor;
import dev.athanor.api.inference.ModelStreamInferResponse;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.testing.TestTier;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;

/** Tests W3C Trace Context in metadata. */
@Tag(TestTier.THOROUGH_TAG)
class TracingTest extends GrpcTest {

  private static final String CLIENT = "00f067aa0ba902b7";
  private static final AtomicInteger COUNT = new AtomicInteger();
  private static final Metadata.Key<String> RESPONSE =
      Metadata.Key.of("traceresponse", Metadata.ASCII_STRING_MARSHALLER);

  private final String trace =
      "4bf92f3577b34da6a3ce929d0e0f%04x".formatted(COUNT.incrementAndGet());

  @Autowired InMemorySpanExporter exported;
  @Autowired SdkTracerProvider tracing;

  private static ClientInterceptor metadata(String name, String value) {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return MetadataUtils.newAttachHeadersInterceptor(metadata);
  }

  private ClientInterceptor traced() {
    return metadata("traceparent", "00-" + trace + "-" + CLIENT + "-01");
  }

  private static RunRequest identity() {
    return RunRequest.newBuilder().setOp("identity").putInputs("x", input(1, 2)).build();
  }

  private List<SpanData> spans() {
    await().until(() -> finished().stream().anyMatch(span -> span.getKind() == SpanKind.SERVER));
    return finished();
  }

  private List<SpanData> finished() {
    tracing.forceFlush().join(1, TimeUnit.HOURS);
    return exported.getFinishedSpanItems().stream()
        .filter(span -> span.getTraceId().equals(trace))
        .sorted(Comparator.comparingLong(SpanData::getStartEpochNanos))
        .toList();
  }

  private static List<String> names(List<SpanData> spans, SpanData parent) {
    return spans.stream()
        .filter(span -> span.getParentSpanId().equals(parent.getSpanId()))
        .map(SpanData::getName)
        .toList();
  }

  private static SpanData call(List<SpanData> spans) {
    return spans.stream().filter(s -> s.getKind() == SpanKind.SERVER).findAny().orElseThrow();
  }

  @Test
  void callContinuesTheTraceOfItsClientWithASpanPerPhase() {
    var headers = new AtomicReference<Metadata>();
    ops()
        .withInterceptors(
            traced(), MetadataUtils.newCaptureMetadataInterceptor(headers, new AtomicReference<>()))
        .run(identity());
    var spans = spans();
    var call = call(spans);
    assertThat(call.getName()).isEqualTo("athanor.v1.Ops/Run");
    assertThat(call.getParentSpanId()).isEqualTo(CLIENT);
    assertThat(Objects.requireNonNull(headers.get()).get(RESPONSE))
        .isEqualTo("00-" + trace + "-" + call.getSpanId() + "-01");
    assertThat(names(spans, call))
        .containsExactly("prepare", "queue", "upload", "kernel", "download");
  }

  @Test
  void streamIsOneTrace() {
    var ended = new CompletableFuture<Boolean>();
    var requests =
        GRPCInferenceServiceGrpc.newStub(channel())
            .withInterceptors(traced())
            .modelStreamInfer(
                new StreamObserver<ModelStreamInferResponse>() {
                  @Override
                  public void onNext(ModelStreamInferResponse answer) {
                    assertThat(answer.getErrorMessage()).isEmpty();
                  }

                  @Override
                  public void onError(Throwable thrown) {
                    ended.completeExceptionally(thrown);
                  }

                  @Override
                  public void onCompleted() {
                    ended.complete(true);
                  }
                });
    for (int i = 0; i < 2; i++) {
      requests.onNext(
          ModelInferRequest.newBuilder()
              .setModelName("identity")
              .addInputs(InferInputTensor.newBuilder().setName("x").setDatatype("FP32").addShape(1))
              .addRawInputContents(bytes(i))
              .build());
    }
    requests.onCompleted();
    assertThat(ended.join()).isTrue();
    var spans = spans();
    assertThat(names(spans, call(spans)))
        .containsExactlyInAnyOrder( // the second request is prepared while the first runs
            "prepare",
            "queue",
            "upload",
            "kernel",
            "download",
            "prepare",
            "queue",
            "upload",
            "kernel",
            "download");
  }

  @Test
  void errorsNameTheTrace() {
    var unknown = identity().toBuilder().setOp("sing").build();
    assertThat(refusal(() -> ops().withInterceptors(traced()).run(unknown)).metadata())
        .containsEntry("traceId", trace);
    var call = call(spans());
    assertThat(call.getParentSpanId()).isEqualTo(CLIENT);
    assertThat(call.getAttributes().toString()).contains("NOT_FOUND");
  }

  @Test
  void errorsOfUploadsNameTheTrace() {
    var upload = new Upload();
    dev.athanor.api.v1.TensorsGrpc.newStub(channel())
        .withInterceptors(traced())
        .put(upload)
        .onNext(header("f99", 1));
    assertThat(refusal(upload::tensor).metadata()).containsEntry("traceId", trace);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "garbage",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "ff-4bf92f3577b34da6a3ce929d0e0effff-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0effff-00f067aa0ba902b7-01-more"
      })
  void ignoresHostileTraceHeaders(String value) {
    for (var text : List.of(value, value + "a".repeat(10_000))) {
      for (var name : List.of("traceparent", "tracestate", "baggage")) {
        var headers = new AtomicReference<Metadata>();
        ops()
            .withInterceptors(
                metadata(name, text),
                MetadataUtils.newCaptureMetadataInterceptor(headers, new AtomicReference<>()))
            .run(identity());
        assertThat(Objects.requireNonNull(headers.get()).get(RESPONSE))
            .matches("00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]")
            .doesNotContain("4bf92f3577b34da6a3ce929d0e0effff");
      }
    }
    var refused =
        refusal(() ->
            ops().withInterceptors(metadata("baggage", "a".repeat(1_000_000))).run(identity()));
    assertThat(refused.status()).isNotEqualTo(Status.Code.OK);
    assertThat(ops().run(identity()).getOutputsCount()).isEqualTo(1);
  }

  /** As in REST. */
  @Test
  void severalParentsStartANewTrace() {
    var headers = new AtomicReference<Metadata>();
    ops()
        .withInterceptors(
            traced(),
            metadata("traceparent", "00-" + "b".repeat(32) + "-" + CLIENT + "-01"),
            MetadataUtils.newCaptureMetadataInterceptor(headers, new AtomicReference<>()))
        .run(identity());
    assertThat(
            headers.get().get(Metadata.Key.of("traceresponse", Metadata.ASCII_STRING_MARSHALLER)))
        .isNotNull()
        .doesNotContain(trace)
        .doesNotContain("b".repeat(32));
  }
}
