package dev.athanor.service.rest;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.athanor.service.openinference.Model;
import dev.athanor.service.openinference.ModelStatistics;
import dev.athanor.service.openinference.ModelStatistics.Compute;
import dev.athanor.service.openinference.ModelStatistics.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/** JSON views of models, as defined by the Open Inference Protocol and Triton's extensions. */
final class ModelViews {

  private ModelViews() {}

  record Server(String name, String version, List<String> extensions) {}

  record Ready(String name, boolean ready) {}

  /** The metadata of a model. */
  record Metadata(
      String name,
      List<String> versions,
      String platform,
      List<Tensor> inputs,
      List<Tensor> outputs,
      Map<String, String> properties) {

    static Metadata of(Model model) {
      return new Metadata(
          model.name(),
          List.of(model.version()),
          Model.PLATFORM,
          model.inputs().stream().map(Tensor::of).toList(),
          model.outputs().stream().map(Tensor::of).toList(),
          model.properties());
    }
  }

  record Tensor(String name, String datatype, List<Long> shape) {
    static Tensor of(Model.Tensor tensor) {
      return new Tensor(tensor.name(), tensor.datatype(), tensor.shape());
    }
  }

  /**
   * The parts of Triton's model configuration that apply to ops.
   *
   * @param maxBatchSize always 0, since no dimension is reserved for batches
   */
  @JsonNaming(SnakeCaseStrategy.class)
  record Config(
      String name,
      String platform,
      String backend,
      int maxBatchSize,
      List<ConfigTensor> input,
      List<ConfigTensor> output,
      Map<String, Boolean> modelTransactionPolicy) {

    static Config of(Model model) {
      return new Config(
          model.name(),
          Model.PLATFORM,
          Model.BACKEND,
          0,
          model.inputs().stream()
              .map(tensor -> ConfigTensor.of(tensor, tensor.optional()))
              .toList(),
          model.outputs().stream().map(tensor -> ConfigTensor.of(tensor, null)).toList(),
          Map.of("decoupled", false));
    }
  }

  /** An input, or an output if {@code optional} is null. */
  @JsonNaming(SnakeCaseStrategy.class)
  record ConfigTensor(
      String name,
      String dataType,
      List<Long> dims,
      @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Boolean optional) {

    static ConfigTensor of(Model.Tensor tensor, @Nullable Boolean optional) {
      return new ConfigTensor(tensor.name(), tensor.configType(), tensor.shape(), optional);
    }
  }

  @JsonNaming(SnakeCaseStrategy.class)
  record AllStatistics(List<Statistics> modelStats) {
    static AllStatistics of(List<ModelStatistics> models) {
      return new AllStatistics(models.stream().map(Statistics::of).toList());
    }
  }

  /** The statistics of one model. */
  @JsonNaming(SnakeCaseStrategy.class)
  record Statistics(
      String name,
      String version,
      long lastInference,
      long inferenceCount,
      long executionCount,
      Phases inferenceStats,
      Map<String, Object> responseStats,
      List<Batch> batchStats,
      List<Object> memoryUsage) {

    static Statistics of(ModelStatistics counts) {
      return new Statistics(
          counts.name(),
          counts.version(),
          counts.lastInference(),
          counts.inferences(),
          counts.executions(),
          new Phases(
              Sum.of(counts.success()),
              Sum.of(counts.fail()),
              Sum.of(counts.queue()),
              Sum.of(counts.compute().input()),
              Sum.of(counts.compute().infer()),
              Sum.of(counts.compute().output()),
              Sum.NONE,
              Sum.NONE),
          Map.of(),
          counts.batches().entrySet().stream()
              .map(batch -> Batch.of(batch.getKey(), batch.getValue()))
              .toList(),
          List.of());
    }
  }

  /** Durations per phase. Nothing is cached, but clients expect the cache fields. */
  @JsonNaming(SnakeCaseStrategy.class)
  record Phases(
      Sum success,
      Sum fail,
      Sum queue,
      Sum computeInput,
      Sum computeInfer,
      Sum computeOutput,
      Sum cacheHit,
      Sum cacheMiss) {}

  @JsonNaming(SnakeCaseStrategy.class)
  record Batch(int batchSize, Sum computeInput, Sum computeInfer, Sum computeOutput) {
    static Batch of(int size, Compute launches) {
      return new Batch(
          size, Sum.of(launches.input()), Sum.of(launches.infer()), Sum.of(launches.output()));
    }
  }

  record Sum(long count, long ns) {
    static final Sum NONE = new Sum(0, 0);

    static Sum of(Duration duration) {
      return new Sum(duration.count(), duration.nanos());
    }
  }
}
