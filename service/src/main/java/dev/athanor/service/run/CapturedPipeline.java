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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pipeline as a graph, on memory of its own: clients' tensors are uploaded into it before, and
 * outputs are taken from it after each launch. What is read for the last time leaves its memory to
 * later steps, as it does in a run step by step. For one run at a time.
 */
final class CapturedPipeline implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(CapturedPipeline.class);

  private final PipelineKey wiring;
  private final Set<Buffer> residents;
  private final List<Double> stepMicros;
  private final DeviceMemory memory;

  private final List<Buffer> own = new ArrayList<>();
  private final Map<Long, Deque<Buffer>> idle = new HashMap<>();
  private final Map<Integer, DeviceTensor> tensors = new HashMap<>();
  private @Nullable Graph graph;

  /**
   * A pipeline that is to be captured.
   *
   * @param stepMicros how long its steps took one by one
   * @param memory of the device
   */
  CapturedPipeline(PipelineKey wiring, List<Double> stepMicros, DeviceMemory memory) {
    this.wiring = wiring;
    this.stepMicros = stepMicros;
    this.memory = memory;
    residents = wiring.residents();
  }

  PipelineKey wiring() {
    return wiring;
  }

  /** Whether it uses a tensor's memory. */
  boolean reads(Buffer buffer) {
    return residents.contains(buffer);
  }

  boolean isCaptured() {
    return graph != null;
  }

  /**
   * Takes memory and has the device keep the work; nothing runs.
   *
   * @throws DeviceException.OutOfMemory when there is not as much to spare
   */
  void capture(Device device, KernelCache kernels) {
    for (int i = 0; i < wiring.values().size(); i++) {
      var value = wiring.values().get(i);
      if (value.resident() != null) {
        tensors.put(i, new DeviceTensor(value.type(), value.resident()));
      }
    }
    wiring.uploads().forEach(this::lay);
    var bindings = new ArrayList<Bindings>();
    for (int i = 0; i < wiring.stages().size(); i++) {
      bindings.add(bind(i));
    }
    graph =
        device.capture(stream -> {
          for (int i = 0; i < bindings.size(); i++) {
            wiring.stages().get(i).plan().enqueue(kernels, stream, bindings.get(i));
          }
        });
  }

  private Bindings bind(int index) {
    var stage = wiring.stages().get(index);
    stage.outputs().values().forEach(this::lay);
    long bytes = stage.plan().workspaceBytes();
    var workspace = bytes == 0 ? Optional.<Buffer>empty() : Optional.of(take(bytes));
    var bindings = new Bindings(tensors(stage.inputs()), tensors(stage.outputs()), workspace);
    workspace.ifPresent(this::leave);
    for (int i = 0; i < wiring.values().size(); i++) {
      var value = wiring.values().get(i);
      if (value.lastUse() == index && value.resident() == null && !value.isOutput()) {
        leave(tensor(i).buffer());
      }
    }
    return bindings;
  }

  private Map<String, DeviceTensor> tensors(Map<String, Integer> numbers) {
    var named = new HashMap<String, DeviceTensor>();
    numbers.forEach((name, number) -> named.put(name, tensor(number)));
    return named;
  }

  private void lay(int number) {
    var type = wiring.values().get(number).type();
    tensors.put(number, new DeviceTensor(type, take(type.bytes())));
  }

  private Buffer take(long bytes) {
    var free = idle.get(bytes);
    if (free != null && !free.isEmpty()) {
      return free.pop();
    }
    var buffer = memory.spare(bytes);
    own.add(buffer);
    return buffer;
  }

  /** Later steps may have it, which the device does after those before them. */
  private void leave(Buffer buffer) {
    idle.computeIfAbsent(buffer.bytes(), _ -> new ArrayDeque<>()).push(buffer);
  }

  /** Where a value lies; one that is no output may have been overwritten after a launch. */
  DeviceTensor tensor(int number) {
    return Objects.requireNonNull(tensors.get(number), "a value of the wiring");
  }

  /** Enqueues the work of all steps. */
  void launch(Stream stream) {
    Objects.requireNonNull(graph, "it was captured").launch(stream);
  }

  /** What steps have of the time of all, as it was divided among them one by one. */
  List<Double> shares(double micros) {
    double sum = stepMicros.stream().mapToDouble(Double::doubleValue).sum();
    return stepMicros.stream()
        .map(step -> sum > 0 ? micros * step / sum : micros / stepMicros.size())
        .toList();
  }

  /** Gives all back; it may no longer be at work. */
  @Override
  public void close() {
    try {
      if (graph != null) {
        graph.close();
      }
    } catch (DeviceException e) {
      LOG.debug("a device that is lost takes its graphs with it", e);
    }
    own.forEach(memory::free);
    own.clear();
  }
}
