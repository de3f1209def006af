package dev.athanor.service.grpc;

import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.inference.InferParameter;
import dev.athanor.api.inference.ModelConfigRequest;
import dev.athanor.api.inference.ModelConfigResponse;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.inference.ModelInferResponse;
import dev.athanor.api.inference.ModelMetadataRequest;
import dev.athanor.api.inference.ModelMetadataResponse;
import dev.athanor.api.inference.ModelReadyRequest;
import dev.athanor.api.inference.ModelReadyResponse;
import dev.athanor.api.inference.ModelStatisticsRequest;
import dev.athanor.api.inference.ModelStatisticsResponse;
import dev.athanor.api.inference.ModelStreamInferResponse;
import dev.athanor.api.inference.RepositoryIndexRequest;
import dev.athanor.api.inference.RepositoryIndexResponse;
import dev.athanor.api.inference.ServerLiveRequest;
import dev.athanor.api.inference.ServerLiveResponse;
import dev.athanor.api.inference.ServerMetadataRequest;
import dev.athanor.api.inference.ServerMetadataResponse;
import dev.athanor.api.inference.ServerReadyRequest;
import dev.athanor.api.inference.ServerReadyResponse;
import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.openinference.InferenceRequest;
import dev.athanor.service.openinference.Models;
import dev.athanor.service.openinference.ServedModel;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.function.Supplier;
import org.springframework.grpc.server.service.GrpcService;

/** The Open Inference Protocol over gRPC, for ops and stored models. */
@GrpcService
class InferenceService extends GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase {

  private final Models models;
  private final Metrics metrics;
  private final InlineMemory inline;
  private final GrpcCalls calls;

  InferenceService(Models models, Metrics metrics, InlineMemory inline, GrpcCalls calls) {
    this.models = models;
    this.metrics = metrics;
    this.inline = inline;
    this.calls = calls;
  }

  private ServedModel find(String name, String version) {
    return models.find(GrpcCalls.tenant(), name, version);
  }

  @Override
  public void serverLive(ServerLiveRequest request, StreamObserver<ServerLiveResponse> answer) {
    calls.answer(answer, () -> ServerLiveResponse.newBuilder().setLive(true).build());
  }

  @Override
  public void serverReady(ServerReadyRequest request, StreamObserver<ServerReadyResponse> answer) {
    calls.answer(answer, () -> ServerReadyResponse.newBuilder().setReady(models.isReady()).build());
  }

  @Override
  public void modelReady(ModelReadyRequest request, StreamObserver<ModelReadyResponse> answer) {
    calls.answer(
        answer,
        () -> {
          find(request.getName(), request.getVersion());
          return ModelReadyResponse.newBuilder().setReady(models.isReady()).build();
        });
  }

  @Override
  public void serverMetadata(
      ServerMetadataRequest request, StreamObserver<ServerMetadataResponse> answer) {
    calls.answer(
        answer,
        () ->
            ServerMetadataResponse.newBuilder()
                .setName(Models.SERVER)
                .setVersion(models.version())
                .addAllExtensions(Models.EXTENSIONS)
                .build());
  }

  @Override
  public void modelMetadata(
      ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> answer) {
    calls.answer(
        answer,
        () -> ModelMessages.metadata(find(request.getName(), request.getVersion()).description()));
  }

  @Override
  public void modelConfig(ModelConfigRequest request, StreamObserver<ModelConfigResponse> answer) {
    calls.answer(
        answer,
        () ->
            ModelConfigResponse.newBuilder()
                .setConfig(
                    ModelMessages.config(
                        find(request.getName(), request.getVersion()).description()))
                .build());
  }

  @Override
  public void modelStatistics(
      ModelStatisticsRequest request, StreamObserver<ModelStatisticsResponse> answer) {
    calls.answer(
        answer,
        () -> {
          var statistics =
              request.getName().isEmpty()
                  ? models.statistics(GrpcCalls.tenant())
                  : List.of(
                      models.statistics(
                          GrpcCalls.tenant(), request.getName(), request.getVersion()));
          return ModelStatisticsResponse.newBuilder()
              .addAllModelStats(statistics.stream().map(ModelMessages::statistics).toList())
              .build();
        });
  }

  @Override
  public void repositoryIndex(
      RepositoryIndexRequest request, StreamObserver<RepositoryIndexResponse> answer) {
    calls.answer(
        answer,
        () ->
            RepositoryIndexResponse.newBuilder()
                .addAllModels(
                    models.index(GrpcCalls.tenant(), request.getReady()).stream()
                        .map(ModelMessages::entry)
                        .toList())
                .build());
  }

  @Override
  public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> answer) {
    calls.answer(
        answer,
        inline,
        request.getModelName(),
        memory -> counted(request, () -> start(request, memory).get()));
  }

  private ModelInferResponse counted(
      ModelInferRequest request, Supplier<ModelInferResponse> inference) {
    var label = models.label(GrpcCalls.tenant(), request.getModelName());
    return metrics.counted(GrpcCalls.tenant(), label, inference);
  }

  private Supplier<ModelInferResponse> start(ModelInferRequest request, RequestMemory memory) {
    InferenceRequest.checkedId(request.getId());
    var model = find(request.getModelName(), request.getModelVersion());
    var inference =
        models.start(model, InferenceMessages.request(model, request), GrpcCalls.context(memory));
    return () -> InferenceMessages.response(request, inference.get());
  }

  @Override
  public StreamObserver<ModelInferRequest> modelStreamInfer(
      StreamObserver<ModelStreamInferResponse> answers) {
    boolean failsStream = CallMetadata.FAILS_WHOLE.get();
    return new RequestStream<>(
        calls,
        inline,
        answers,
        this::start,
        (request, inference) -> streamed(request, inference, failsStream));
  }

  private ModelStreamInferResponse streamed(
      ModelInferRequest request, Supplier<ModelInferResponse> inference, boolean failsStream) {
    var answer = ModelStreamInferResponse.newBuilder();
    try {
      var response = counted(request, inference);
      return answer.setInferResponse(markedFinal(request, response)).build();
    } catch (RuntimeException e) {
      if (failsStream) {
        throw e;
      }
      var description = Statuses.of(e).getStatus().getDescription();
      return answer
          .setErrorMessage(String.valueOf(description))
          .setInferResponse(
              ModelInferResponse.newBuilder()
                  .setModelName(request.getModelName())
                  .setId(request.getId()))
          .build();
    }
  }

  /** Marks a response as final if the client requested it; every response is final. */
  private static ModelInferResponse markedFinal(
      ModelInferRequest request, ModelInferResponse response) {
    return request.containsParameters(InferenceRequest.FINAL_RESPONSE_WANTED)
        ? response.toBuilder()
            .putParameters(
                "triton_final_response", InferParameter.newBuilder().setBoolParam(true).build())
            .build()
        : response;
  }
}
