package dev.athanor.service.grpc;

import dev.athanor.api.inference.DataType;
import dev.athanor.api.inference.InferBatchStatistics;
import dev.athanor.api.inference.InferStatistics;
import dev.athanor.api.inference.ModelConfig;
import dev.athanor.api.inference.ModelInput;
import dev.athanor.api.inference.ModelMetadataResponse;
import dev.athanor.api.inference.ModelMetadataResponse.TensorMetadata;
import dev.athanor.api.inference.ModelOutput;
import dev.athanor.api.inference.ModelTransactionPolicy;
import dev.athanor.api.inference.RepositoryIndexResponse;
import dev.athanor.api.inference.StatisticDuration;
import dev.athanor.service.openinference.Model;
import dev.athanor.service.openinference.ModelState;
import dev.athanor.service.openinference.ModelStatistics;
import java.util.Arrays;

/** Converts models and their statistics to messages. */
final class ModelMessages {

  private ModelMessages() {}

  static ModelMetadataResponse metadata(Model model) {
    return ModelMetadataResponse.newBuilder()
        .setName(model.name())
        .addVersions(model.version())
        .setPlatform(Model.PLATFORM)
        .addAllInputs(model.inputs().stream().map(ModelMessages::metadata).toList())
        .addAllOutputs(model.outputs().stream().map(ModelMessages::metadata).toList())
        .putAllProperties(model.properties())
        .build();
  }

  private static TensorMetadata metadata(Model.Tensor tensor) {
    return TensorMetadata.newBuilder()
        .setName(tensor.name())
        .setDatatype(tensor.datatype())
        .addAllShape(tensor.shape())
        .build();
  }

  static RepositoryIndexResponse.ModelIndex entry(ModelState state) {
    return RepositoryIndexResponse.ModelIndex.newBuilder()
        .setName(state.name())
        .setVersion(state.version())
        .setState(state.state())
        .setReason(state.reason())
        .build();
  }

  static ModelConfig config(Model model) {
    return ModelConfig.newBuilder()
        .setName(model.name())
        .setPlatform(Model.PLATFORM)
        .setBackend(Model.BACKEND)
        .addAllInput(
            model.inputs().stream()
                .map(tensor ->
                    ModelInput.newBuilder()
                        .setName(tensor.name())
                        .setDataType(type(tensor))
                        .addAllDims(tensor.shape())
                        .setOptional(tensor.optional())
                        .build())
                .toList())
        .addAllOutput(
            model.outputs().stream()
                .map(tensor ->
                    ModelOutput.newBuilder()
                        .setName(tensor.name())
                        .setDataType(type(tensor))
                        .addAllDims(tensor.shape())
                        .build())
                .toList())
        .setModelTransactionPolicy(ModelTransactionPolicy.getDefaultInstance())
        .build();
  }

  /** Returns Triton's data type; {@code TYPE_INVALID} for fp8 and block formats, which it lacks. */
  private static DataType type(Model.Tensor tensor) {
    return Arrays.stream(DataType.values())
        .filter(type -> type.name().equals(tensor.configType()))
        .findFirst()
        .orElse(DataType.TYPE_INVALID);
  }

  static dev.athanor.api.inference.ModelStatistics statistics(ModelStatistics statistics) {
    var message =
        dev.athanor.api.inference.ModelStatistics.newBuilder()
            .setName(statistics.name())
            .setVersion(statistics.version())
            .setLastInference(statistics.lastInference())
            .setInferenceCount(statistics.inferences())
            .setExecutionCount(statistics.executions())
            .setInferenceStats(
                InferStatistics.newBuilder()
                    .setSuccess(duration(statistics.success()))
                    .setFail(duration(statistics.fail()))
                    .setQueue(duration(statistics.queue()))
                    .setComputeInput(duration(statistics.compute().input()))
                    .setComputeInfer(duration(statistics.compute().infer()))
                    .setComputeOutput(duration(statistics.compute().output()))
                    .setCacheHit(StatisticDuration.getDefaultInstance())
                    .setCacheMiss(StatisticDuration.getDefaultInstance()));
    statistics
        .batches()
        .forEach((size, launches) ->
            message.addBatchStats(
                InferBatchStatistics.newBuilder()
                    .setBatchSize(size)
                    .setComputeInput(duration(launches.input()))
                    .setComputeInfer(duration(launches.infer()))
                    .setComputeOutput(duration(launches.output()))));
    return message.build();
  }

  private static StatisticDuration duration(ModelStatistics.Duration duration) {
    return StatisticDuration.newBuilder()
        .setCount(duration.count())
        .setNs(duration.nanos())
        .build();
  }
}
