package dev.athanor.engine.cuda.module;

import static jcuda.driver.JCudaDriver.cuModuleUnload;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.context.DeferredFrees;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.KernelImage;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.device.LruCache;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.legal.Legalizer;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import jcuda.driver.CUmodule;
import org.jspecify.annotations.Nullable;

/**
 * The modules loaded on a GPU. Each PTX text is loaded once, from the cache on disk if that has it.
 * Different texts are compiled concurrently.
 *
 * <p>At most {@link #MODULES} are kept, the least recently used is evicted. An evicted module is
 * unloaded once no kernel and no graph refers to it and the work pending on the streams has
 * completed. A module with variables is never evicted, since kernels keep state in it.
 */
public final class Modules {

  private static final System.Logger LOG = System.getLogger(Modules.class.getName());

  /**
   * The prefix of the compiler's warnings about slow code, for example that it ignores setmaxnreg
   * because the linker may add to the code.
   */
  private static final String SLOW = "Potential Performance Loss";

  /** Maximum number of modules kept. */
  public static final int MODULES = 512;

  /** Local memory of a thread is a multiple of this many bytes. */
  private static final int LOCAL_UNIT = 16;

  private final Context context;
  private final Capability capability;
  private final CubinCache cache;
  private final DeferredFrees deferredFrees;
  private final Jit jit;
  private final LruCache<String, LoadedModule> modules =
      new LruCache<>(MODULES, LoadedModule::hasVariables);
  private final ReferenceQueue<LoadedModule> unreachable = new ReferenceQueue<>();

  /** The modules that the driver has loaded. */
  private final Set<ModuleReference> loaded = ConcurrentHashMap.newKeySet();

  public Modules(
      Context context, Capability capability, CubinCache cache, DeferredFrees deferredFrees) {
    this.context = context;
    this.capability = capability;
    this.cache = cache;
    this.deferredFrees = deferredFrees;
    jit = new Jit(context);
  }

  /** Enqueued when nothing refers to a module any more, so that it can be unloaded. */
  private static final class ModuleReference extends PhantomReference<LoadedModule> {
    private final CUmodule handle;

    ModuleReference(LoadedModule module, ReferenceQueue<LoadedModule> queue) {
      super(module, queue);
      this.handle = module.handle();
    }
  }

  /**
   * Loads a kernel.
   *
   * @param name the kernel's name in the module
   * @throws DeviceException.LoadFailed if the module lacks the kernel, is for another target, or
   *     does not compile
   */
  public CudaKernel load(Module given, String name) {
    var module = Legalizer.legalize(given, capability.target());
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
    if (!capability.target().canRun(module.target())) {
      throw new DeviceException.LoadFailed(
          name,
          "its target is %s, but %s is %s"
              .formatted(module.target(), capability.name(), capability.target()));
    }
    var text = module.toString();
    context.enter();
    var origin = new AtomicReference<>(Origin.HIT);
    var found =
        modules.get(
            text,
            _ -> {
              unloadUnreachable();
              var cached = fromDisk(name, text);
              origin.set(cached == null ? Origin.COMPILED : Origin.DISK);
              return register(
                  cached == null ? compile(name, text) : cached, !module.variables().isEmpty());
            });
    var function =
        found.function(
            name,
            capability.sharedBytesPerBlockOptIn(),
            declaredLocalBytes(module, kernel),
            first -> warnOfSpills(name, first.spilledBytes()));
    return new CudaKernel(kernel, origin.get(), function);
  }

  /**
   * Loads a kernel in machine code. Its module is never evicted, since it may have variables.
   *
   * @throws DeviceException.LoadFailed if it is for another target or damaged
   */
  public CudaKernel load(KernelImage image) {
    var name = image.kernel().name();
    context.enter();
    var origin = new AtomicReference<>(Origin.HIT);
    var found =
        modules.get(
            CubinCache.digest(image.cubin()),
            _ -> {
              unloadUnreachable();
              origin.set(Origin.DISK);
              return register(jit.load(name, image.cubin()), true);
            });
    var function =
        found.function(name, capability.sharedBytesPerBlockOptIn(), Integer.MAX_VALUE, _ -> {});
    return new CudaKernel(image.kernel(), origin.get(), function);
  }

  private LoadedModule register(Jit.Loaded now, boolean hasVariables) {
    var created = new LoadedModule(context, now.module(), now.log(), hasVariables);
    loaded.add(new ModuleReference(created, unreachable));
    return created;
  }

  /** Unloads the evicted modules to which nothing refers, after the work pending on the streams. */
  private void unloadUnreachable() {
    for (var each = unreachable.poll(); each != null; each = unreachable.poll()) {
      var reference = (ModuleReference) each;
      if (loaded.remove(reference)) {
        deferredFrees.add(() -> {
          context.enter();
          unload(reference);
        });
      }
    }
  }

  private void unload(ModuleReference reference) {
    context.check(cuModuleUnload(reference.handle), "cuModuleUnload");
  }

  private Jit.@Nullable Loaded fromDisk(String kernel, String text) {
    var cubin = cache.get(key(text));
    if (cubin.isEmpty()) {
      return null;
    }
    try {
      return new Jit.Loaded(jit.load(kernel, cubin.get()).module(), "");
    } catch (DeviceException.LoadFailed e) {
      LOG.log(System.Logger.Level.INFO, "recompiling: {0}", e.getMessage());
      return null;
    }
  }

  private Jit.Loaded compile(String kernel, String text) {
    Jit.Compiled compiled;
    try {
      compiled = jit.compile(kernel, text);
    } catch (DeviceException.LoadFailed e) {
      // The linker accepts less than the loader; if both fail, the loader's log is reported.
      LOG.log(System.Logger.Level.DEBUG, "cannot be linked, so not cached: {0}", e.getMessage());
      return compileAndLoad(kernel, text);
    }
    if (compiled.log().contains(SLOW)) {
      return compileAndLoad(kernel, text); // the loader compiles without that limitation
    }
    var loaded = jit.load(kernel, compiled.cubin());
    cache.put(key(text), compiled.cubin());
    return new Jit.Loaded(loaded.module(), compiled.log());
  }

  /** Lets the driver compile and load in one step. The code is in the driver's own cache only. */
  private Jit.Loaded compileAndLoad(String kernel, String text) {
    return jit.load(kernel, text.getBytes(StandardCharsets.UTF_8));
  }

  private String key(String text) {
    return CubinCache.key(text, capability.target().toString(), capability.driver());
  }

  /**
   * Returns the local memory that the source of a kernel declares per thread, in bytes. Called
   * functions may use a stack whose size the source does not state.
   */
  private static int declaredLocalBytes(Module module, Kernel kernel) {
    return module.functions().isEmpty()
        ? Math.ceilDiv(kernel.localBytes(), LOCAL_UNIT) * LOCAL_UNIT
        : Integer.MAX_VALUE;
  }

  /** Logs a warning if a kernel spills registers; called once per loaded kernel. */
  private void warnOfSpills(String name, int spilledBytes) {
    if (spilledBytes > 0) {
      LOG.log(
          System.Logger.Level.WARNING,
          "kernel {0} spills registers: it uses {1} bytes of local memory per thread beyond what it"
              + " declares; its results are correct, but it is slower than planned on {2} ({3})",
          name,
          spilledBytes,
          capability.name(),
          capability.target());
    }
  }

  /** Unloads all modules. No kernel may be running. */
  public void close() {
    modules.clear();
    context.enter();
    loaded.forEach(this::unload);
    loaded.clear();
  }
}
