package dev.athanor.engine.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.athanor.engine.natives.Platform;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The sensors of a GPU. Thread-safe; a reading may take milliseconds. */
public final class Gpu {

  private static final String LIBRARY =
      Platform.CURRENT.isWindows() ? "nvml.dll" : "libnvidia-ml.so.1";

  /** NVML_DEVICE_UUID_V2_BUFFER_SIZE. */
  private static final int UUID_BYTES = 96;

  private final MemorySegment device;
  private final String uuid;
  private final Map<Sensor, MethodHandle> functions = new EnumMap<>(Sensor.class);

  private Gpu(MemorySegment device, String uuid) {
    this.device = device;
    this.uuid = uuid;
  }

  /**
   * Finds a GPU by its PCI bus id.
   *
   * @param busId the id, such as 0000:3B:00.0
   * @return the GPU; empty if NVML is not installed or does not know the id
   */
  public static Optional<Gpu> at(String busId) {
    return at(LIBRARY, busId);
  }

  /**
   * Finds a GPU with a given NVML library.
   *
   * @param library name or path of the library
   */
  @SuppressWarnings("restricted") // as in CudaDriver: the launcher enables native access
  static Optional<Gpu> at(String library, String busId) {
    SymbolLookup nvml;
    try {
      nvml = SymbolLookup.libraryLookup(library, Arena.global());
    } catch (IllegalArgumentException | IllegalCallerException e) {
      return Optional.empty();
    }
    var start = function(nvml, "nvmlInit_v2");
    var find = function(nvml, "nvmlDeviceGetHandleByPciBusId_v2", ADDRESS, ADDRESS);
    var name = function(nvml, "nvmlDeviceGetUUID", ADDRESS, ADDRESS, JAVA_INT);
    if (start.isEmpty() || find.isEmpty() || name.isEmpty() || call(start.get()) != 0) {
      return Optional.empty();
    }
    try (var arena = Arena.ofConfined()) {
      var handle = arena.allocate(ADDRESS);
      var uuid = arena.allocate(UUID_BYTES);
      if (call(find.get(), arena.allocateFrom(busId), handle) != 0) {
        return Optional.empty();
      }
      var device = handle.get(ADDRESS, 0);
      boolean named = call(name.get(), device, uuid, UUID_BYTES) == 0;
      var gpu = new Gpu(device, named ? uuid.getString(0) : "");
      for (var sensor : Sensor.values()) {
        var parameters = new ArrayList<MemoryLayout>(List.of(ADDRESS));
        for (int i = 0; i < sensor.arguments(); i++) {
          parameters.add(JAVA_INT);
        }
        parameters.add(ADDRESS);
        function(nvml, sensor.function(), parameters.toArray(MemoryLayout[]::new))
            .ifPresent(found -> gpu.functions.put(sensor, found));
      }
      return Optional.of(gpu);
    }
  }

  /** Returns the UUID by which NVIDIA's tools identify the GPU: GPU-… */
  public String uuid() {
    return uuid;
  }

  /** Reads the sensors, except those that the GPU, its driver or the container lacks. */
  public Map<Sensor, Double> read() {
    var values = new EnumMap<Sensor, Double>(Sensor.class);
    try (var arena = Arena.ofConfined()) {
      var result = arena.allocate(Sensor.RESULT_BYTES, Long.BYTES);
      functions.forEach((sensor, function) -> {
        result.fill((byte) 0);
        var arguments = new ArrayList<Object>(List.of(device));
        for (int i = 0; i < sensor.arguments(); i++) {
          arguments.add(sensor.argument(i));
        }
        arguments.add(result);
        if (call(function, arguments.toArray()) == 0) {
          values.put(sensor, sensor.value(result));
        }
      });
    }
    return values;
  }

  @SuppressWarnings("restricted")
  private static Optional<MethodHandle> function(
      SymbolLookup nvml, String name, MemoryLayout... parameters) {
    return nvml.find(name)
        .map(symbol ->
            Linker.nativeLinker()
                .downcallHandle(symbol, FunctionDescriptor.of(JAVA_INT, parameters)));
  }

  private static int call(MethodHandle function, Object... arguments) {
    try {
      return (int) function.invokeWithArguments(arguments);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e); // native functions do not throw
    }
  }
}
