package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.DescribeOpRequest;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.ListOpsRequest;
import dev.athanor.api.v1.ListRequest;
import dev.athanor.api.v1.OpDescription;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.PipelineStep;
import dev.athanor.api.v1.PipelineStepResult;
import dev.athanor.api.v1.RunPipelineRequest;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.api.v1.TensorData;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.run.TestOps;
import dev.athanor.service.tensor.NamedTensors.Copy;
import dev.athanor.service.tensor.Tenant;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;

class OpsServiceTest extends GrpcTest {

  @Autowired private InlineMemory inline;

  @Autowired MeterRegistry registry;

  private static RunRequest.Builder identity(float... x) {
    return RunRequest.newBuilder().setOp("identity").putInputs("x", input(x));
  }

  private RunResponse run(RunRequest.Builder request) {
    return ops().run(request.build());
  }

  private Refusal rejection(RunRequest.Builder request) {
    return refusal(() -> run(request));
  }

  @Test
  void listsAndDescribesOps() {
    var all = ops().list(ListOpsRequest.getDefaultInstance()).getOpsList();
    assertThat(all.stream().map(OpDescription::getName))
        .containsExactly("concat", "identity", "join", "split");
    var op = ops().describe(DescribeOpRequest.newBuilder().setOp("identity").build()).getOp();
    assertThat(all).contains(op);
    assertThat(op.getFormula()).isEqualTo("y = x");
    assertThat(op.getInputs(0).getDtypesList()).contains("f32", "bf16", "q4_0");
    var gate = op.getAttributes(0);
    assertThat(gate.getType()).isEqualTo("boolean");
    assertThat(gate.getDefaultValue().getFlag()).isFalse();
    assertThat(op.getAttributes(1).getDefaultValue().getNumber()).isEqualTo(1);
    assertThat(op.getAttributes(2).getChoicesList()).containsExactly("a", "b");
    assertThat(op.getAttributes(2).hasDefaultValue()).isFalse();
  }

  @Test
  void runsOnInlineInputs() {
    double before = requests("ok");
    var answer =
        run(
            identity(1.5f, -2)
                .putAttributes("factor", AttributeValue.newBuilder().setInteger(3).build())
                .putAttributes("mode", AttributeValue.newBuilder().setText("a").build()));
    assertThat(answer.getOp()).isEqualTo("identity");
    assertThat(answer.getDevice()).isEqualTo("fake:0");
    assertThat(answer.getKernel()).isEqualTo("identity_f32");
    assertThat(answer.getOutputsOrThrow("y").getInline()).isEqualTo(data(1.5f, -2));
    assertThat(answer.getTiming().getTotalMicros())
        .isGreaterThanOrEqualTo(answer.getTiming().getKernelMicros())
        .isPositive();
    assertThat(requests("ok")).isEqualTo(before + 1);
  }

  /**
   * The host memory of the results is reserved before the call is queued, and released after the
   * response.
   */
  @Test
  void resultsUseTheMemoryOfTheRequest() throws Exception {
    int atGate = TestOps.Identity.AT_GATE.get();
    var flag = AttributeValue.newBuilder().setFlag(true).build();
    try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      var answer = clients.submit(() -> run(identity(4, 5).putAttributes("gate", flag)));
      await().until(() -> TestOps.Identity.AT_GATE.get() > atGate);
      assertThat(inline.used()).isPositive();
      TestOps.Identity.GATE.release();
      assertThat(answer.get().getOutputsOrThrow("y").getInline()).isEqualTo(data(4, 5));
    }
    await().until(() -> inline.used() == 0);
  }

  private double requests(String outcome) {
    var counter =
        registry
            .find("athanor.op.requests")
            .tag("op", "identity")
            .tag("outcome", outcome)
            .counter();
    return counter == null ? 0 : counter.count();
  }

  @Test
  void tensorsStayOnTheDeviceBetweenCalls() {
    var x = put(1, 2, 3);
    var kept =
        run(RunRequest.newBuilder()
                .setOp("identity")
                .putInputs("x", resident(x))
                .putOutputs("y", OutputTarget.newBuilder().setKeep(true).build()))
            .getOutputsOrThrow("y")
            .getResident();
    assertThat(kept.getDtype()).isEqualTo("f32");
    assertThat(kept.getShapeList()).containsExactly(3L);
    assertThat(kept.getBytes()).isEqualTo(12);
    assertThat(kept.getVersion()).isEqualTo(1);
    assertThat(kept.hasExpiresAt()).isTrue();
    var into =
        run(identity(7, 8, 9)
                .putOutputs(
                    "y",
                    OutputTarget.newBuilder().setInto(kept.getHandle()).setDtype("f32").build()))
            .getOutputsOrThrow("y")
            .getResident();
    assertThat(into.getHandle()).isEqualTo(kept.getHandle());
    assertThat(into.getVersion()).isEqualTo(2);
    var back =
        run(
            RunRequest.newBuilder()
                .setOp("identity")
                .putInputs("x", resident(kept.getHandle()))
                .putOutputs("y", OutputTarget.newBuilder().setKeep(false).build()));
    assertThat(back.getOutputsOrThrow("y").getInline()).isEqualTo(data(7, 8, 9));
  }

  @Test
  void failuresNameTheOp() {
    assertThat(rejection(RunRequest.newBuilder().setOp("sing")).metadata())
        .containsEntry("op", "sing");
    assertThat(rejection(identity(1).putInputs("z", input(1))).metadata())
        .containsEntry("op", "identity")
        .doesNotContainKey("step");
  }

  @Test
  void reportsInvalidFields() {
    rejection(RunRequest.newBuilder().setOp("sing"))
        .is(
            Status.Code.NOT_FOUND,
            "unknown-op",
            "op",
            "Unknown op \"sing\". athanor.v1.Ops/List lists all ops.");
    rejection(identity(1).putInputs("z", input(1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "unknown-field",
            "inputs.z",
            "inputs.z is unknown; known keys are x");
    rejection(RunRequest.newBuilder().setOp("concat").putInputs("b", input(1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "missing-input",
            "inputs.a",
            "input \"a\" [N] is missing; the inputs of concat are a, b");
    rejection(identity().putInputs("x", InputTensor.getDefaultInstance()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "inputs.x is empty; it must be inline or a handle");
    var one =
        TensorData.newBuilder()
            .setDtype("u8")
            .addShape(1)
            .setData(ByteString.copyFrom(new byte[1]));
    rejection(
            identity().putInputs("x", InputTensor.newBuilder().setInline(one).setOffset(0).build()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x.offset",
            "inputs.x.offset is given, but inline has its own shape; remove inputs.x.offset");
    rejection(inline(data(1, 2).toBuilder().setShape(0, 3)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x.inline.data",
            "f32[3] needs 12 bytes of data, got 8");
    rejection(inline(data(1).toBuilder().setDtype("f33")))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "unsupported-dtype",
            "inputs.x.inline.dtype",
            "inputs.x.inline.dtype is \"f33\"; it must be one of f64, f32, f16, bf16, e4m3, e5m2, i64, i32,"
                + " i16, i8, u8, u32, bool, q4_0, q4_1, q5_0, q8_0, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4, nf4");
    rejection(inline(data(1).toBuilder().setShape(0, -1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x.inline.shape",
            "inputs.x.inline.shape is [-1]; every extent must be at least 0");
    rejection(inline(data(1).toBuilder().setShape(0, 1L << 62)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x.inline.shape",
            "inputs.x.inline.shape is [4611686018427387904], which exceeds 2^63 bytes");
    rejection(
            inline(
                TensorData.newBuilder()
                    .setDtype("bool")
                    .addShape(2)
                    .setData(ByteString.copyFrom(new byte[] {1, 2}))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x.inline.data",
            "byte 1 of a bool tensor is 2; it must be 0 or 1");
    rejection(identity(1).putAttributes("tune", AttributeValue.getDefaultInstance()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "unknown-field",
            "attributes.tune",
            "attributes.tune is unknown; known keys are gate, factor, mode");
    rejection(identity(1).putAttributes("mode", AttributeValue.getDefaultInstance()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "attributes.mode",
            "attributes.mode is empty; it must be a flag, an integer, a number, a text, integers or numbers");
    assertThat(
            rejection(
                    identity(1)
                        .putAttributes("gate", AttributeValue.newBuilder().setNumber(2).build()))
                .metadata())
        .containsEntry("field", "attributes.gate");
    rejection(identity(1).putOutputs("z", OutputTarget.getDefaultInstance()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "unknown-field",
            "outputs.z",
            "outputs.z is unknown; known keys are y");
    rejection(identity(1).putOutputs("y", OutputTarget.newBuilder().setDtype("f16").build()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "unsupported-dtype",
            "outputs.y.dtype",
            "output \"y\" is f32, got f16");
    var wide =
        TensorData.newBuilder()
            .setDtype("f64")
            .addShape(1)
            .setData(ByteString.copyFrom(new byte[8]));
    rejection(
            RunRequest.newBuilder()
                .setOp("concat")
                .putInputs("a", InputTensor.newBuilder().setInline(wide).build()))
        .is(
            Status.Code.FAILED_PRECONDITION,
            "unsupported-on-device",
            "inputs.a",
            "f64 needs sm_100, this is sm_80");
    // long names are shortened in messages
    assertThat(rejection(identity(1).putInputs("n".repeat(100_000), input(1))).message())
        .hasSizeLessThan(200);
  }

  private static RunRequest.Builder inline(TensorData.Builder x) {
    return identity(1).putInputs("x", InputTensor.newBuilder().setInline(x).build());
  }

  @Test
  void repeatedCallWithItsIdempotencyKeyCreatesNoSecondTensor() {
    var keep = OutputTarget.newBuilder().setKeep(true).build();
    var request = identity(1, 2).putOutputs("y", keep).setIdempotencyKey("op-1");
    var first = run(request);

    assertThat(run(request)).isEqualTo(first);
    assertThat(
            tensors().list(ListRequest.getDefaultInstance()).getTensorsList().stream()
                .map(dev.athanor.api.v1.Tensor::getHandle))
        .containsOnlyOnce(first.getOutputsOrThrow("y").getResident().getHandle());
    rejection(identity(1, 3).putOutputs("y", keep).setIdempotencyKey("op-1"))
        .is(
            Status.Code.ALREADY_EXISTS,
            "idempotency-key-reused",
            "idempotency_key",
            "this idempotency_key was used for a different request; use a new key for each request");
    rejection(identity(1).setIdempotencyKey("op-2"))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "idempotency_key",
            "idempotency_key is for requests that keep all outputs on the device, but this request names none; request a handle or omit the key");
  }

  @Test
  void acceptsNamesAsHandles() {
    var handle = put(3, 4);
    store.of(Tenant.LOCAL).named().put("w", handle, new Copy(5, List.of(), Duration.ZERO), _ -> {});
    try {
      assertThat(run(identity().putInputs("x", resident("w"))).getOutputsOrThrow("y").getInline())
          .isEqualTo(data(3, 4));
    } finally {
      store.of(Tenant.LOCAL).named().remove("w", Long.MAX_VALUE);
    }
    rejection(identity().putInputs("x", resident("w")))
        .is(
            Status.Code.NOT_FOUND,
            "unknown-handle",
            "inputs.x.handle",
            "no tensor is stored under the name w; PUT /tensors/w stores one, and handles look like t_…");
  }

  @Test
  void reportsUnusableHandles() {
    rejection(identity().putInputs("x", resident("t_0")))
        .is(
            Status.Code.NOT_FOUND,
            "unknown-handle",
            "inputs.x.handle",
            "inputs.x.handle is not a handle; handles look like t_… and come from POST /tensors");
    var other = "t_" + "0".repeat(32) + "_other";
    var wrongReplica = rejection(identity().putInputs("x", resident(other)));
    wrongReplica.is(
        Status.Code.FAILED_PRECONDITION,
        "wrong-replica",
        "inputs.x.handle",
        other + " belongs to replica other; send the request there");
    assertThat(wrongReplica.metadata()).containsEntry("replica", "other");
    var handle = put(1, 2);
    rejection(
            identity()
                .putInputs("x", resident(handle))
                .putOutputs("y", OutputTarget.newBuilder().setInto(handle).build()))
        .is(
            Status.Code.FAILED_PRECONDITION,
            "handle-in-use",
            "outputs.y.into",
            "outputs.y.into is "
                + handle
                + ", which is also the input \"x\"; identity cannot run in place, so name another tensor");
    clock.advance(Duration.ofMinutes(61));
    rejection(identity().putInputs("x", resident(handle)))
        .is(
            Status.Code.NOT_FOUND,
            "expired-handle",
            "inputs.x.handle",
            "the lease of "
                + handle
                + " has expired and its contents are freed; create the tensor again");
  }

  @Test
  void pipelineRunsItsStepsInOrder() {
    int buffers = settledBuffers();
    var request =
        RunPipelineRequest.newBuilder()
            .putInputs("in", input(1, 2))
            .addSteps(step("identity", "x", "in", "y", "h"))
            .addSteps(
                step("concat", "a", "h", "c", "all")
                    .putInputs("b", "in")
                    .putOutputs("zeros", "none"));
    var answer = ops().runPipeline(request.build());
    assertThat(answer.getStepsList())
        .extracting(PipelineStepResult::getKernel)
        .containsExactly("identity_f32", "concat");
    assertThat(answer.getOutputsOrThrow("all").getInline()).isEqualTo(data(1, 2, 1, 2));
    assertThat(answer.getOutputsOrThrow("none").getInline()).isEqualTo(data(0, 0));
    assertThat(answer.getTiming().getTotalMicros()).isPositive();
    assertThat(device.openBuffers()).isEqualTo(buffers);
    var kept =
        ops()
            .runPipeline(
                request.putOutputs("all", OutputTarget.newBuilder().setKeep(true).build()).build());
    assertThat(kept.getOutputsCount()).isEqualTo(1);
    assertThat(kept.getOutputsOrThrow("all").getResident().getBytes()).isEqualTo(16);
  }

  @Test
  void pipelinesAcceptIdempotencyKeysAndConditionsOnTargets() {
    var handle = put(1, 2);
    var target = OutputTarget.newBuilder().setInto(handle).setVersion(1);
    var request =
        RunPipelineRequest.newBuilder()
            .putInputs("in", input(3, 4))
            .addSteps(step("identity", "x", "in", "y", "h"))
            .putOutputs("h", target.build())
            .setIdempotencyKey("pipeline-1");
    for (int i = 0; i < 2; i++) {
      var answer = ops().runPipeline(request.build()).getOutputsOrThrow("h").getResident();
      assertThat(answer.getVersion()).isEqualTo(2);
    }
    var again = request.clone().setIdempotencyKey("pipeline-2");
    refusal(() -> ops().runPipeline(again.build()))
        .is(
            Status.Code.FAILED_PRECONDITION,
            "version-mismatch",
            "outputs.h.version",
            "outputs.h.version is 1, but %s has version 2; read the tensor again"
                .formatted(handle));
    var copies =
        again
            .clone()
            .addSteps(step("identity", "x", handle, "y", "z"))
            .putOutputs("z", OutputTarget.newBuilder().setKeep(true).build())
            .putOutputs("h", target.setVersion(2).setInPlace(true).build());
    assertThat(refusal(() -> ops().runPipeline(copies.build())).metadata())
        .containsEntry("field", "outputs.h.inPlace");
  }

  private static PipelineStep.Builder step(
      String op, String input, String from, String output, String to) {
    return PipelineStep.newBuilder().setOp(op).putInputs(input, from).putOutputs(output, to);
  }

  @Test
  void errorsOfAPipelineNameTheStep() {
    var request =
        RunPipelineRequest.newBuilder()
            .putInputs("in", input(1, 2))
            .addSteps(step("identity", "x", "in", "y", "h"));
    var missing =
        refusal(() ->
            ops()
                .runPipeline(
                    request.clone().addSteps(step("identity", "x", "nothing", "y", "z")).build()));
    missing.is(
        Status.Code.INVALID_ARGUMENT,
        "missing-input",
        "steps[1].inputs.x",
        "steps[1].inputs.x is \"nothing\", which is neither a pipeline input, nor an output of an earlier step, nor the handle or name of a stored tensor");
    assertThat(missing.metadata()).containsEntry("step", "1").containsEntry("op", "identity");
    var unknown =
        refusal(() ->
            ops().runPipeline(request.clone().addSteps(step("sing", "x", "in", "y", "z")).build()));
    unknown.is(
        Status.Code.NOT_FOUND,
        "unknown-op",
        "steps[1].op",
        "Unknown op \"sing\". athanor.v1.Ops/List lists all ops.");
    assertThat(unknown.metadata()).containsEntry("step", "1").doesNotContainKey("op");
    refusal(() -> ops().runPipeline(RunPipelineRequest.getDefaultInstance()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "steps",
            "steps has 0 entries; a pipeline has 1 to 8192");
    var many = RunPipelineRequest.newBuilder();
    for (int i = 0; i < 8_193; i++) {
      many.addSteps(PipelineStep.getDefaultInstance());
    }
    refusal(() -> ops().runPipeline(many.build()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "steps",
            "steps has 8193 entries; a pipeline has 1 to 8192");
    // long texts are shortened in messages
    var longName =
        refusal(() ->
            ops()
                .runPipeline(
                    request
                        .clone()
                        .addSteps(step("identity", "n".repeat(100_000), "in", "y", "z"))
                        .build()));
    assertThat(longName.message()).hasSizeLessThan(1100);
  }

  @Test
  void reportsDeviceErrors() {
    device.failWith(new DeviceException.OutOfMemory(1000, 10));
    var full = rejection(identity(1));
    assertThat(full.status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(full.reason()).isEqualTo("out-of-device-memory");
    assertThat(full.metadata()).containsEntry("requestedBytes", "1000");
    device.failWith(new DeviceException.LoadFailed("the secret of the kernel", "secret, too"));
    var broken = rejection(identity(1));
    broken.is(
        Status.Code.INTERNAL,
        "internal",
        null,
        "Internal error; see the log of the service for id " + broken.metadata().get("id"));
  }

  @Test
  void callThatExceedsItsDeadlineStoresNothing() {
    int tensors = store.count();
    double ended = late();
    TestOps.Identity.AT_GATE.set(0);
    // on a busy machine, the client's deadline may pass before the call reaches the service
    for (long wait = 300; TestOps.Identity.AT_GATE.get() == 0; wait *= 2) {
      long deadline = wait;
      var late =
          refusal(() -> ops().withDeadlineAfter(deadline, TimeUnit.MILLISECONDS).run(gated()));
      assertThat(late.status()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    }
    // it may also pass before the service notices: the gate stays closed until then
    await().until(() -> late() > ended);
    openGate();
    assertThat(store.count()).isEqualTo(tensors);
  }

  /**
   * Returns the late calls: the client's cancellation may arrive before the deadline is noticed.
   */
  private double late() {
    return requests("deadline-exceeded") + requests("cancelled");
  }

  @Test
  void rejectsCallsIfTheQueueIsFullAndCleansUpCanceledCalls() {
    store.sweep(); // so that the service does not sweep during the test
    long bytes = store.bytes();
    double ended = requests();
    TestOps.Identity.AT_GATE.set(0);
    var calls = new ArrayList<>(List.of(callAtGate(), callAtGate()));
    await().until(() -> TestOps.Identity.AT_GATE.get() == 2);
    calls.add(callAtGate());
    calls.add(callAtGate());
    await().until(() -> streams.waiting() == 2);
    var full = rejection(identity(1));
    assertThat(full.status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(full.reason()).isEqualTo("queue-full");
    assertThat(full.message())
        .matches(
            "Queue full: 2 jobs are waiting, 2 of them for this tenant \\(see athanor.run.queue, queue-time, queue-bytes and athanor.quota.share\\)\\. Retry after \\d+ s\\.");
    assertThat(full.mayRetry()).isTrue();
    calls.forEach(call -> call.cancel(true));
    await().until(() -> requests() == ended + 5);
    assertThat(streams.waiting()).isZero();
    openGate();
    await().until(() -> device.openBuffers() == store.count());
    assertThat(store.bytes()).isEqualTo(bytes);
  }

  /** Returns how many requests of the identity op have ended, whatever their outcome. */
  private double requests() {
    return registry.find("athanor.op.requests").tag("op", "identity").counters().stream()
        .mapToDouble(Counter::count)
        .sum();
  }

  private com.google.common.util.concurrent.ListenableFuture<RunResponse> callAtGate() {
    return OpsGrpc.newFutureStub(channel()).run(gated());
  }

  private Refusal refusalWith(String name, String value) {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return refusal(() ->
        ops()
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata))
            .run(identity(1).build()));
  }

  @Test
  void rejectsInvalidMetadata() {
    refusalWith("x-priority", "9")
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "x-priority",
            "x-priority is \"9\"; it must be an integer 1 to 5");
    refusalWith("x-row-invariant", "yes")
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "x-row-invariant",
            "x-row-invariant is \"yes\"; it must be true or false");
  }
}
