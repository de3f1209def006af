package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.service.device.DeviceMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pipeline captured as a CUDA graph with memory of its own. Each run uploads inputs into that
 * memory, launches the graph, and copies the outputs out, except those that overwrite resident
 * tensors in place. Used by one run at a time.
 */
final class CapturedPipeline implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(CapturedPipeline.class);

  private final PipelineKey key;
  private final Set<Buffer> residents;
  private final List<Double> stepMicros;
  private final DeviceMemory memory;

  private final List<Buffer> owned = new ArrayList<>();
  private final Map<Integer, DeviceTensor> tensors = new HashMap<>();
  private @Nullable Graph graph;

  /**
   * Creates a pipeline that is not captured yet.
   *
   * @param stepMicros the device time of each step when they ran separately
   * @param memory the device's memory
   */
  CapturedPipeline(PipelineKey key, List<Double> stepMicros, DeviceMemory memory) {
    this.key = key;
    this.stepMicros = stepMicros;
    this.memory = memory;
    residents = key.residents();
  }

  PipelineKey key() {
    return key;
  }

  /** Whether the graph reads a resident tensor's memory. */
  boolean reads(Buffer buffer) {
    return residents.contains(buffer);
  }

  boolean isCaptured() {
    return graph != null;
  }

  /**
   * Allocates memory and captures the graph without running it.
   *
   * @throws DeviceException.OutOfMemory if the device has no spare memory for it
   */
  void capture(Device device, KernelCache kernels) {
    var plan = MemoryPlan.of(key, Set.of());
    plan.place(key, this::spare, Map.of(), tensors::put);
    var workspace = plan.workspace(this::spare);
    var bindings = new ArrayList<Bindings>();
    for (var stage : key.stages()) {
      bindings.add(
          new Bindings(
              tensors(stage.inputs()), tensors(stage.outputs()), workspace, stage.mayReplace()));
    }
    graph =
        device.capture(stream -> {
          for (int i = 0; i < bindings.size(); i++) {
            key.stages().get(i).plan().enqueue(kernels, stream, bindings.get(i));
          }
        });
  }

  private Map<String, DeviceTensor> tensors(Map<String, Integer> numbers) {
    var named = new HashMap<String, DeviceTensor>();
    numbers.forEach((name, number) -> named.put(name, tensor(number)));
    return named;
  }

  private Buffer spare(long bytes) {
    var buffer = memory.spare(bytes);
    owned.add(buffer);
    return buffer;
  }

  /** Returns the memory of a value. After a launch, only outputs are guaranteed to be intact. */
  DeviceTensor tensor(int number) {
    return Objects.requireNonNull(tensors.get(number), "a value of the pipeline");
  }

  /** Enqueues the work of all steps. */
  void launch(Stream stream) {
    Objects.requireNonNull(graph, "the pipeline is captured").launch(stream);
  }

  /** Returns the time that the steps took when they ran separately, in nanoseconds. */
  double nanos() {
    return 1e3 * stepMicros.stream().mapToDouble(Double::doubleValue).sum();
  }

  /** Divides the time of a launch among the steps in proportion to their separate times. */
  List<Double> stepShares(double micros) {
    double sum = stepMicros.stream().mapToDouble(Double::doubleValue).sum();
    return stepMicros.stream()
        .map(step -> sum > 0 ? micros * step / sum : micros / stepMicros.size())
        .toList();
  }

  /** Frees the graph and its memory; no launch may be in progress. */
  @Override
  public void close() {
    try {
      if (graph != null) {
        graph.close();
      }
    } catch (DeviceException e) {
      LOG.debug("Closing a graph failed; a lost device has already freed it", e);
    }
    owned.forEach(memory::free);
    owned.clear();
  }
}
