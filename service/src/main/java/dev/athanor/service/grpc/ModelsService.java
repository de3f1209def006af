package dev.athanor.service.grpc;

import dev.athanor.api.v1.DeleteModelRequest;
import dev.athanor.api.v1.DeleteModelResponse;
import dev.athanor.api.v1.DescribeModelRequest;
import dev.athanor.api.v1.DescribeModelResponse;
import dev.athanor.api.v1.ListModelsRequest;
import dev.athanor.api.v1.ListModelsResponse;
import dev.athanor.api.v1.Model;
import dev.athanor.api.v1.ModelInput;
import dev.athanor.api.v1.ModelsGrpc;
import dev.athanor.api.v1.PutModelHeader;
import dev.athanor.api.v1.PutModelRequest;
import dev.athanor.api.v1.PutModelResponse;
import dev.athanor.api.v1.RunModelRequest;
import dev.athanor.api.v1.RunModelResponse;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.model.ExtentRanges;
import dev.athanor.service.model.ModelUpload;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.run.IdempotentCalls;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.springframework.grpc.server.service.GrpcService;

/** Stores models and runs them. */
@GrpcService
class ModelsService extends ModelsGrpc.ModelsImplBase {

  private static final String ONNX = "application/onnx";
  private static final String ZIP = "application/zip";

  private final StoredModels models;
  private final OpRunner runner;
  private final IdempotentCalls idempotent;
  private final Metrics metrics;
  private final InlineMemory inline;
  private final GrpcCalls calls;
  private final GrpcSettings settings;

  ModelsService(
      StoredModels models,
      OpRunner runner,
      IdempotentCalls idempotent,
      Metrics metrics,
      InlineMemory inline,
      GrpcCalls calls,
      GrpcSettings settings) {
    this.models = models;
    this.runner = runner;
    this.idempotent = idempotent;
    this.metrics = metrics;
    this.inline = inline;
    this.calls = calls;
    this.settings = settings;
  }

  @Override
  public StreamObserver<PutModelRequest> put(StreamObserver<PutModelResponse> answer) {
    var upload =
        new Upload<PutModelRequest, PutModelHeader>(
            (ServerCallStreamObserver<PutModelResponse>) answer,
            settings.idleTimeout(),
            message -> message.hasHeader() ? message.getHeader() : null,
            PutModelRequest::getChunk);
    calls.start(
        answer,
        () -> {
          var stored = put(upload);
          answer.onNext(PutModelResponse.newBuilder().setModel(model(stored)).build());
          answer.onCompleted();
        });
    return upload;
  }

  private StoredModel put(Upload<PutModelRequest, PutModelHeader> upload) {
    var context = GrpcCalls.context();
    var header = upload.header(context.deadline());
    var type = header.hasContentType() ? header.getContentType() : ONNX;
    if (!type.equals(ONNX) && !type.equals(ZIP)) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_MEDIA_TYPE,
          "header.content_type",
          "header.content_type is %s; it must be %s, or %s for a folder"
              .formatted(Tensors.excerpt(type), ONNX, ZIP));
    }
    try (var memory = inline.open(GrpcCalls.account())) {
      var body =
          new ModelUpload(upload, type.equals(ZIP), settings.maxTensorBytes(), extents(header));
      return models.put(header.getName(), body, GrpcCalls.context(memory));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static ExtentRanges extents(PutModelHeader header) {
    return header.hasExtents() ? ExtentRanges.parse(header.getExtents()) : ExtentRanges.ANY;
  }

  private static Model model(StoredModel stored) {
    return Model.newBuilder()
        .setName(stored.name())
        .setVersion(stored.version())
        .setCreatedAt(Messages.time(stored.created()))
        .addAllInputs(
            stored.definition().inputs().stream()
                .map(input ->
                    ModelInput.newBuilder()
                        .setName(input.name())
                        .setDtype(input.dtype().text())
                        .addAllShape(input.extents())
                        .build())
                .toList())
        .addAllOutputs(stored.definition().outputs())
        .build();
  }

  @Override
  public void list(ListModelsRequest request, StreamObserver<ListModelsResponse> answer) {
    calls.answer(
        answer,
        () ->
            ListModelsResponse.newBuilder()
                .addAllModels(
                    models.list(GrpcCalls.tenant()).stream().map(ModelsService::model).toList())
                .build());
  }

  @Override
  public void describe(DescribeModelRequest request, StreamObserver<DescribeModelResponse> answer) {
    calls.answer(
        answer,
        () ->
            DescribeModelResponse.newBuilder()
                .setModel(model(models.get(GrpcCalls.tenant(), request.getName())))
                .build());
  }

  @Override
  public void delete(DeleteModelRequest request, StreamObserver<DeleteModelResponse> answer) {
    calls.answer(
        answer,
        () -> {
          models.delete(request.getName(), GrpcCalls.context());
          return DeleteModelResponse.getDefaultInstance();
        });
  }

  @Override
  public void run(RunModelRequest request, StreamObserver<RunModelResponse> answer) {
    calls.answer(
        answer,
        inline,
        memory ->
            metrics.counted(
                GrpcCalls.tenant(), OpRunner.PIPELINE, () -> response(run(request, memory))));
  }

  private Result run(RunModelRequest request, RequestMemory memory) {
    var context = GrpcCalls.context(memory);
    var inputs = RunMessages.inputs(request.getInputsMap());
    var targets = RunMessages.outputs(request.getOutputsMap());
    if (!request.hasIdempotencyKey()) {
      return models.run(request.getName(), inputs, targets, context, runner::run);
    }
    return idempotent.run(
        targets,
        context,
        OpsService.KEY,
        request.getIdempotencyKey(),
        Messages.sha256(request),
        () -> models.run(request.getName(), inputs, targets, context, runner::run));
  }

  private static RunModelResponse response(Result result) {
    var answer =
        RunModelResponse.newBuilder()
            .setDevice(result.device())
            .setTiming(Messages.timing(result.timing()));
    result.outputs().forEach((name, output) -> answer.putOutputs(name, Messages.output(output)));
    return answer.build();
  }
}
