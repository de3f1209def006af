package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks that a repeated call only launches kernels. */
class LaunchPathTest {

  /** A device that counts its loads and allocations. */
  private record CountingDevice(Device device, AtomicInteger loads, AtomicInteger allocations)
      implements Device {

    CountingDevice(Device device) {
      this(device, new AtomicInteger(), new AtomicInteger());
    }

    @Override
    public Capability capability() {
      return device.capability();
    }

    @Override
    public Buffer allocate(long bytes) {
      allocations.incrementAndGet();
      return device.allocate(bytes);
    }

    @Override
    public Stream openStream() {
      return device.openStream();
    }

    @Override
    public LoadedKernel load(Module module, String kernel) {
      loads.incrementAndGet();
      return device.load(module, kernel);
    }

    @Override
    public MemoryUsage memory() {
      return device.memory();
    }

    @Override
    public void close() {
      device.close();
    }
  }

  static List<String> ops() {
    return OpsTest.ops();
  }

  @ParameterizedTest
  @MethodSource("ops")
  void secondCallsLoadAndAllocateNothing(String name) {
    var op = Catalogue.load().find(name).orElseThrow();
    var test = op.cases(RandomGenerator.of("L64X128MixRandom"), true).getFirst();
    var types = HostTensor.types(test.inputs());
    var buffers = new ArrayList<Buffer>();
    try (var device = new CountingDevice(new EmulatedDevice());
        var stream = device.openStream()) {
      var kernels = new KernelCache(device);
      for (var plan : op.plans(types, test.attributes(), device.capability())) {
        var bindings = bind(device, stream, test, plan, buffers);
        plan.enqueue(kernels, stream, bindings);
        stream.synchronize();
        int loads = device.loads.get();
        int allocations = device.allocations.get();
        // a new plan for the same problem finds the same kernels
        op.plans(types, test.attributes(), device.capability()).stream()
            .filter(same -> same.kernel().equals(plan.kernel()))
            .findFirst()
            .orElseThrow()
            .enqueue(kernels, stream, bindings);
        stream.synchronize();
        assertThat(device.loads).as(plan.kernel()).hasValue(loads);
        assertThat(device.allocations).as(plan.kernel()).hasValue(allocations);
      }
      assertThat(device.loads).hasPositiveValue();
      buffers.forEach(Buffer::close);
    }
  }

  private static Bindings bind(
      Device device, Stream stream, Op.Case test, Plan plan, List<Buffer> buffers) {
    var inputs = new HashMap<String, DeviceTensor>();
    test.inputs()
        .forEach((name, tensor) -> {
          var given = tensor(device, tensor.type(), buffers);
          stream.upload(tensor.data(), given.buffer(), 0);
          inputs.put(name, given);
        });
    var outputs = new HashMap<String, DeviceTensor>();
    plan.outputs().forEach((name, type) -> outputs.put(name, tensor(device, type, buffers)));
    var workspace =
        plan.workspaceBytes() == 0
            ? Optional.<Buffer>empty()
            : Optional.of(allocate(device, plan.workspaceBytes(), buffers));
    return new Bindings(inputs, outputs, workspace);
  }

  private static DeviceTensor tensor(Device device, TensorType type, List<Buffer> buffers) {
    return new DeviceTensor(type, allocate(device, type.bytes(), buffers));
  }

  private static Buffer allocate(Device device, long bytes, List<Buffer> buffers) {
    var buffer = device.allocate(bytes);
    buffers.add(buffer);
    return buffer;
  }

  private record CountingVariant(AtomicInteger builds) implements Variant {
    @Override
    public String name() {
      return "counted";
    }

    @Override
    public Kernel build() {
      builds.incrementAndGet();
      return KernelBuilder.build("counted", 32, _ -> {});
    }
  }

  @Test
  void concurrentFirstCallsBuildOnce() throws Exception {
    int callers = 8;
    var variant = new CountingVariant(new AtomicInteger());
    var origins = new HashMap<LoadedKernel.Origin, Integer>();
    try (var device = new CountingDevice(new EmulatedDevice());
        var threads = Executors.newFixedThreadPool(callers)) {
      var kernels =
          new KernelCache(
              device,
              origin -> {
                synchronized (origins) {
                  origins.merge(origin, 1, Integer::sum);
                }
              });
      var start = new CyclicBarrier(callers);
      Callable<LoadedKernel> first =
          () -> {
            start.await();
            return kernels.get(variant);
          };
      var loaded = new ArrayList<LoadedKernel>();
      for (var result : threads.invokeAll(Collections.nCopies(callers, first))) {
        loaded.add(result.get());
      }
      assertThat(loaded).hasSize(callers).containsOnly(loaded.getFirst());
      assertThat(device.loads).hasValue(1);
    }
    assertThat(variant.builds).hasValue(1);
    // callers that waited for the build count as hits
    assertThat(origins)
        .isEqualTo(Map.of(LoadedKernel.Origin.COMPILED, 1, LoadedKernel.Origin.HIT, callers - 1));
  }
}
