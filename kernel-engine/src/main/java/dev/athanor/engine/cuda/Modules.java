package dev.athanor.engine.cuda;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuModuleGetFunction;
import static jcuda.driver.JCudaDriver.cuModuleUnload;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The modules of a GPU: each PTX text is loaded once, from the cache on disk where that has it.
 * Different texts are compiled side by side.
 */
final class Modules {

  private static final System.Logger LOG = System.getLogger(Modules.class.getName());

  /**
   * How the compiler begins its complaints that code became slow, among them that it ignores
   * setmaxnreg since the linker may add to the code.
   */
  private static final String SLOW = "Potential Performance Loss";

  /** Local memory comes in units of this many bytes a thread. */
  private static final int LOCAL_UNIT = 16;

  private final Context context;
  private final Capability capability;
  private final CubinCache cache;
  private final Jit jit;
  private final Map<String, Entry> entries = new ConcurrentHashMap<>();

  Modules(Context context, Capability capability, CubinCache cache) {
    this.context = context;
    this.capability = capability;
    this.cache = cache;
    jit = new Jit(context);
  }

  /** A text's module, once it is loaded, and those of its functions that were asked for. */
  private static final class Entry {
    private Jit.@Nullable Loaded loaded;
    private final Map<String, CudaKernel.Code> functions = new HashMap<>();
  }

  CudaKernel load(Module module, String name) {
    var kernel =
        module
            .kernel(name)
            .orElseThrow(() ->
                new DeviceException.LoadFailed(
                    name,
                    "its module has only "
                        + module.kernels().stream()
                            .map(Kernel::name)
                            .collect(Collectors.joining(", "))));
    if (!capability.target().runs(module.target())) {
      throw new DeviceException.LoadFailed(
          name,
          "it is for %s, %s is %s"
              .formatted(module.target(), capability.name(), capability.target()));
    }
    var text = module.toString();
    var entry = entries.computeIfAbsent(text, _ -> new Entry());
    synchronized (entry) {
      context.enter();
      var origin = Origin.HIT;
      var loaded = entry.loaded;
      if (loaded == null) {
        var found = fromDisk(name, text);
        origin = found == null ? Origin.COMPILED : Origin.DISK;
        loaded = found == null ? compile(name, text) : found;
        entry.loaded = loaded;
      }
      var code = entry.functions.get(name);
      if (code == null) {
        code = function(loaded, name, declaredLocalBytes(module, kernel));
        entry.functions.put(name, code);
        warnOfSpills(name, code);
      }
      return new CudaKernel(kernel, origin, code);
    }
  }

  private Jit.@Nullable Loaded fromDisk(String kernel, String text) {
    var cubin = cache.get(key(text));
    if (cubin.isEmpty()) {
      return null;
    }
    try {
      return new Jit.Loaded(jit.load(kernel, cubin.get()).module(), "");
    } catch (DeviceException.LoadFailed e) {
      LOG.log(System.Logger.Level.INFO, "compiling anew: {0}", e.getMessage());
      return null;
    }
  }

  private Jit.Loaded compile(String kernel, String text) {
    Jit.Compiled compiled;
    try {
      compiled = jit.compile(kernel, text);
    } catch (DeviceException.LoadFailed e) {
      // The linker takes less than the loader does; where both refuse, the loader's log counts.
      LOG.log(System.Logger.Level.DEBUG, "not linked, so not kept on disk: {0}", e.getMessage());
      return whole(kernel, text);
    }
    if (compiled.log().contains(SLOW)) {
      return whole(kernel, text); // which may be as fast as it should
    }
    var loaded = jit.load(kernel, compiled.cubin());
    cache.put(key(text), compiled.cubin());
    return new Jit.Loaded(loaded.module(), compiled.log());
  }

  /** Lets the driver compile and load in one step; what it makes is in its own cache alone. */
  private Jit.Loaded whole(String kernel, String text) {
    return jit.load(kernel, text.getBytes(StandardCharsets.UTF_8));
  }

  private String key(String text) {
    return CubinCache.key(text, capability.target().toString(), capability.driver());
  }

  /**
   * Local memory that the source of a kernel asks for. Functions may keep a stack there, of whose
   * size the source says nothing.
   */
  private static int declaredLocalBytes(Module module, Kernel kernel) {
    return module.functions().isEmpty()
        ? Math.ceilDiv(kernel.localBytes(), LOCAL_UNIT) * LOCAL_UNIT
        : Integer.MAX_VALUE;
  }

  /** Logs a warning where registers were spilled; called once for each kernel that is loaded. */
  private void warnOfSpills(String name, CudaKernel.Code code) {
    if (code.spilledBytes() > 0) {
      LOG.log(
          System.Logger.Level.WARNING,
          "kernel {0} spills registers: it takes {1} bytes of local memory a thread that it does"
              + " not declare; its results are right, but it is slower than planned on {2} ({3})",
          name,
          code.spilledBytes(),
          capability.name(),
          capability.target());
    }
  }

  private CudaKernel.Code function(Jit.Loaded loaded, String name, int declaredLocalBytes) {
    var function = new FunctionHandle();
    context.enter();
    int result = cuModuleGetFunction(function, loaded.module(), name);
    if (result != CUDA_SUCCESS && !CudaError.fatal(result)) {
      throw new DeviceException.LoadFailed(name, CudaError.describe(result));
    }
    context.check(result, "cuModuleGetFunction");
    return new CudaKernel.Code(
        context, function, capability.sharedBytesPerBlockOptIn(), declaredLocalBytes, loaded.log());
  }

  /** Unloads all. No kernel may run any more. */
  void close() {
    for (var entry : entries.values()) {
      synchronized (entry) {
        var loaded = entry.loaded;
        if (loaded != null) {
          context.enter();
          context.check(cuModuleUnload(loaded.module()), "cuModuleUnload");
        }
      }
    }
    entries.clear();
  }
}
