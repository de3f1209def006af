package dev.athanor.engine.cuda;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuModuleGetFunction;
import static jcuda.driver.JCudaDriver.cuModuleUnload;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.device.LruCache;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import jcuda.driver.CUmodule;
import org.jspecify.annotations.Nullable;

/**
 * The modules of a GPU: each PTX text is loaded once, from the cache on disk where that has it.
 * Different texts are compiled side by side.
 *
 * <p>Of more than {@link #MODULES} those are kept that were used last. An evicted module is
 * unloaded once nothing refers to its kernels any more, no graph among it, and the streams have
 * done the work that they then hold. A module that has variables stays, since they keep what
 * kernels wrote to them.
 */
final class Modules {

  private static final System.Logger LOG = System.getLogger(Modules.class.getName());

  /**
   * How the compiler begins its complaints that code became slow, among them that it ignores
   * setmaxnreg since the linker may add to the code.
   */
  private static final String SLOW = "Potential Performance Loss";

  /** How many modules are kept. */
  static final int MODULES = 512;

  /** Local memory comes in units of this many bytes a thread. */
  private static final int LOCAL_UNIT = 16;

  private final Context context;
  private final Capability capability;
  private final CubinCache cache;
  private final Jit jit;
  private final LruCache<String, Unit> units = new LruCache<>(MODULES, unit -> unit.variables);
  private final ReferenceQueue<Unit> unused = new ReferenceQueue<>();

  /** What the driver has loaded. */
  private final Set<Unloading> loaded = ConcurrentHashMap.newKeySet();

  Modules(Context context, Capability capability, CubinCache cache) {
    this.context = context;
    this.capability = capability;
    this.cache = cache;
    jit = new Jit(context);
  }

  /** A loaded module with those of its functions that were asked for, which refer to it. */
  static final class Unit {
    private final CUmodule module;
    private final String log;
    private final boolean variables;
    private final Map<String, CudaKernel.Code> functions = new HashMap<>();

    private Unit(Jit.Loaded loaded, boolean variables) {
      this.module = loaded.module();
      this.log = loaded.log();
      this.variables = variables;
    }
  }

  /** Tells that nothing refers to a unit any more, whose module can so be unloaded. */
  private static final class Unloading extends PhantomReference<Unit> {
    private final CUmodule module;

    Unloading(Unit unit, ReferenceQueue<Unit> queue) {
      super(unit, queue);
      this.module = unit.module;
    }
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
    context.enter();
    var origin = new AtomicReference<>(Origin.HIT);
    var unit =
        units.get(
            text,
            _ -> {
              unloadUnused();
              var found = fromDisk(name, text);
              origin.set(found == null ? Origin.COMPILED : Origin.DISK);
              return unit(found == null ? compile(name, text) : found, module);
            });
    synchronized (unit) {
      var code = unit.functions.get(name);
      if (code == null) {
        code = function(unit, name, declaredLocalBytes(module, kernel));
        unit.functions.put(name, code);
        warnOfSpills(name, code);
      }
      return new CudaKernel(kernel, origin.get(), code);
    }
  }

  private Unit unit(Jit.Loaded now, Module module) {
    var unit = new Unit(now, !module.variables().isEmpty());
    loaded.add(new Unloading(unit, unused));
    return unit;
  }

  /** Unloads the evicted modules to which nothing refers, as soon as the streams let it. */
  private void unloadUnused() {
    for (var each = unused.poll(); each != null; each = unused.poll()) {
      var unloading = (Unloading) each;
      if (loaded.remove(unloading)) {
        context
            .afterwards()
            .add(() -> {
              context.enter();
              unload(unloading);
            });
      }
    }
  }

  private void unload(Unloading unloading) {
    context.check(cuModuleUnload(unloading.module), "cuModuleUnload");
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

  private CudaKernel.Code function(Unit unit, String name, int declaredLocalBytes) {
    var function = new FunctionHandle();
    context.enter();
    int result = cuModuleGetFunction(function, unit.module, name);
    if (result != CUDA_SUCCESS && !CudaError.fatal(result)) {
      throw new DeviceException.LoadFailed(name, CudaError.describe(result));
    }
    context.check(result, "cuModuleGetFunction");
    return new CudaKernel.Code(
        context,
        unit,
        function,
        capability.sharedBytesPerBlockOptIn(),
        declaredLocalBytes,
        unit.log);
  }

  /** Unloads all. No kernel may run any more. */
  void close() {
    units.clear();
    context.enter();
    loaded.forEach(this::unload);
    loaded.clear();
  }
}
