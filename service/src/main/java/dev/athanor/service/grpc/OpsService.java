package dev.athanor.service.grpc;

import dev.athanor.api.v1.DescribeOpRequest;
import dev.athanor.api.v1.DescribeOpResponse;
import dev.athanor.api.v1.ListOpsRequest;
import dev.athanor.api.v1.ListOpsResponse;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.PipelineStepResult;
import dev.athanor.api.v1.RunPipelineRequest;
import dev.athanor.api.v1.RunPipelineResponse;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.api.v1.RunStreamResponse;
import dev.athanor.ops.Catalogue;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.IdempotentCalls;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import io.grpc.stub.StreamObserver;
import java.util.function.Supplier;
import org.springframework.grpc.server.service.GrpcService;

/** Lists, describes and runs ops. */
@GrpcService
class OpsService extends OpsGrpc.OpsImplBase {

  static final String KEY = "idempotency_key";

  private final Catalogue catalogue;
  private final OpRunner runner;
  private final IdempotentCalls idempotent;
  private final Metrics metrics;
  private final InlineMemory inline;
  private final GrpcCalls calls;

  OpsService(
      Catalogue catalogue,
      OpRunner runner,
      IdempotentCalls idempotent,
      Metrics metrics,
      InlineMemory inline,
      GrpcCalls calls) {
    this.catalogue = catalogue;
    this.runner = runner;
    this.idempotent = idempotent;
    this.metrics = metrics;
    this.inline = inline;
    this.calls = calls;
  }

  @Override
  public void list(ListOpsRequest request, StreamObserver<ListOpsResponse> answer) {
    calls.answer(
        answer,
        () ->
            ListOpsResponse.newBuilder()
                .addAllOps(
                    catalogue.all().stream().map(op -> Messages.op(op.description())).toList())
                .build());
  }

  @Override
  public void describe(DescribeOpRequest request, StreamObserver<DescribeOpResponse> answer) {
    calls.answer(
        answer,
        () -> {
          var op = RunMessages.find(catalogue, request.getOp(), "op");
          return DescribeOpResponse.newBuilder().setOp(Messages.op(op.description())).build();
        });
  }

  @Override
  public void run(RunRequest request, StreamObserver<RunResponse> answer) {
    calls.answer(
        answer,
        inline,
        request.getOp(),
        memory -> counted(request, () -> start(request, memory).get()));
  }

  @Override
  public StreamObserver<RunRequest> runStream(StreamObserver<RunStreamResponse> answers) {
    return new RequestStream<>(calls, inline, answers, this::start, this::streamed);
  }

  private RunStreamResponse streamed(RunRequest request, Supplier<RunResponse> run) {
    var answer = RunStreamResponse.newBuilder();
    try {
      return answer.setResponse(GrpcCalls.of(request.getOp(), () -> counted(request, run))).build();
    } catch (RuntimeException e) {
      return answer.setError(Statuses.message(e)).build();
    }
  }

  private RunResponse counted(RunRequest request, Supplier<RunResponse> run) {
    var label = catalogue.find(request.getOp()).isPresent() ? request.getOp() : "unknown";
    return metrics.counted(GrpcCalls.tenant(), label, run);
  }

  private Supplier<RunResponse> start(RunRequest request, RequestMemory memory) {
    var call = RunMessages.call(catalogue, request, GrpcCalls.context(memory));
    if (!request.hasIdempotencyKey()) {
      var run = runner.start(call);
      return () -> response(call, run.get());
    }
    var result = idempotent.run(call, KEY, request.getIdempotencyKey(), Messages.sha256(request));
    return () -> response(call, result);
  }

  private RunResponse response(Call call, Result result) {
    var answer =
        RunResponse.newBuilder()
            .setOp(call.op().description().name())
            .setDevice(result.device())
            .setKernel(result.kernel())
            .setTiming(Messages.timing(result.timing()));
    result.outputs().forEach((name, output) -> answer.putOutputs(name, Messages.output(output)));
    return answer.build();
  }

  @Override
  public void runPipeline(RunPipelineRequest request, StreamObserver<RunPipelineResponse> answer) {
    calls.answer(
        answer,
        inline,
        memory ->
            metrics.counted(GrpcCalls.tenant(), OpRunner.PIPELINE, () -> run(request, memory)));
  }

  private RunPipelineResponse run(RunPipelineRequest request, RequestMemory memory) {
    var pipeline = RunMessages.pipeline(catalogue, request, GrpcCalls.context(memory));
    var result =
        request.hasIdempotencyKey()
            ? idempotent.run(pipeline, KEY, request.getIdempotencyKey(), Messages.sha256(request))
            : runner.run(pipeline);
    var answer =
        RunPipelineResponse.newBuilder()
            .setDevice(result.device())
            .setTiming(Messages.timing(result.timing()));
    for (var step : result.steps()) {
      answer.addSteps(
          PipelineStepResult.newBuilder()
              .setOp(step.op())
              .setKernel(step.kernel())
              .setKernelMicros(step.micros())
              .setCopiedBytes(step.copiedBytes()));
    }
    result.outputs().forEach((name, output) -> answer.putOutputs(name, Messages.output(output)));
    return answer.build();
  }
}
