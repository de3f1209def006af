package dev.athanor.ops;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.LruCache;
import dev.athanor.engine.ptx.Module;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * The kernels that a device holds ready, by the variant they were built for. Variants follow from
 * the shapes of requests, so of more than {@link #KERNELS} those are kept that were used last;
 * others are built and loaded again when they are asked for.
 */
public final class KernelCache {

  /** How many kernels are kept. */
  public static final int KERNELS = 512;

  private final Device device;
  private final Consumer<LoadedKernel.Origin> onLookup;
  private final LruCache<Variant, LoadedKernel> loaded = new LruCache<>(KERNELS);

  public KernelCache(Device device) {
    this(device, _ -> {});
  }

  /**
   * A cache that reports its look-ups.
   *
   * @param onLookup is told of every look-up where its kernel came from
   */
  public KernelCache(Device device, Consumer<LoadedKernel.Origin> onLookup) {
    this.device = device;
    this.onLookup = onLookup;
  }

  /**
   * A kernel whose registers do not suffice on the device.
   *
   * @param bytes of local memory of a thread that hold registers
   */
  public record Spill(String kernel, int bytes) {}

  /** The kernels that spill, of those that are loaded, in the order of their names. */
  public List<Spill> spills() {
    return loaded.values().stream()
        .filter(kernel -> kernel.spilledBytes() > 0)
        .map(kernel -> new Spill(kernel.kernel().name(), kernel.spilledBytes()))
        .sorted(Comparator.comparing(Spill::kernel))
        .toList();
  }

  /** Whether the kernel of a variant is loaded. */
  public boolean holds(Variant variant) {
    return loaded.find(variant) != null;
  }

  /** The kernel of a variant. The first call builds and loads it, others wait for that. */
  public LoadedKernel get(Variant variant) {
    var ready = loaded.find(variant);
    if (ready != null) {
      onLookup.accept(LoadedKernel.Origin.HIT);
      return ready;
    }
    var origin = new AtomicReference<>(LoadedKernel.Origin.HIT);
    var kernel =
        loaded.get(
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
