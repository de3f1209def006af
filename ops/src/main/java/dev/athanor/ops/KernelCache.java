package dev.athanor.ops;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.LruCache;
import dev.athanor.engine.ptx.Module;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * An LRU cache of the kernels loaded on a device, by variant. It holds {@link #KERNELS} kernels,
 * because the shapes of requests determine the variants, and as many again that {@linkplain
 * Variant#isDefinedByRequest requests define}; evicted kernels are rebuilt on demand.
 */
public final class KernelCache {

  /** The capacity for kernels of either kind. */
  public static final int KERNELS = 512;

  private final Device device;
  private final Consumer<LoadedKernel.Origin> onLookup;
  private final LruCache<Variant, LoadedKernel> loaded = new LruCache<>(KERNELS);
  private final LruCache<Variant, LoadedKernel> defined = new LruCache<>(KERNELS);

  public KernelCache(Device device) {
    this(device, _ -> {});
  }

  /**
   * Creates a cache that reports its lookups.
   *
   * @param onLookup receives the origin of the kernel for each lookup
   */
  public KernelCache(Device device, Consumer<LoadedKernel.Origin> onLookup) {
    this.device = device;
    this.onLookup = onLookup;
  }

  /**
   * A kernel that spills registers.
   *
   * @param bytes of spilled registers per thread
   */
  public record Spill(String kernel, int bytes) {}

  /** Returns the loaded kernels that spill, sorted by name. */
  public List<Spill> spills() {
    return Stream.concat(loaded.values().stream(), defined.values().stream())
        .filter(kernel -> kernel.spilledBytes() > 0)
        .map(kernel -> new Spill(kernel.kernel().name(), kernel.spilledBytes()))
        .sorted(Comparator.comparing(Spill::kernel))
        .toList();
  }

  /** Returns whether the kernel of a variant is loaded. */
  public boolean holds(Variant variant) {
    return kernelsLike(variant).find(variant) != null;
  }

  private LruCache<Variant, LoadedKernel> kernelsLike(Variant variant) {
    return variant.isDefinedByRequest() ? defined : loaded;
  }

  /** Returns the kernel of a variant. The first call builds and loads it; concurrent calls wait. */
  public LoadedKernel get(Variant variant) {
    var kernels = kernelsLike(variant);
    var ready = kernels.find(variant);
    if (ready != null) {
      onLookup.accept(LoadedKernel.Origin.HIT);
      return ready;
    }
    var origin = new AtomicReference<>(LoadedKernel.Origin.HIT);
    var kernel =
        kernels.get(
            variant,
            _ -> {
              var built = variant.build();
              var now = device.load(Module.of(built), built.name());
              origin.set(now.origin());
              return now;
            });
    onLookup.accept(origin.get());
    return kernel;
  }
}
