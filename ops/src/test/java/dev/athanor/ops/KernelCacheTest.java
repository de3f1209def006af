package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class KernelCacheTest {

  /** A family of kernels, one for each head size. */
  private record StoreHeadSize(int headSize, boolean isDefinedByRequest) implements Variant {
    StoreHeadSize(int headSize) {
      this(headSize, false);
    }

    @Override
    public String name() {
      return "store_" + headSize;
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(
          name(),
          32,
          k -> k.pointer("out", Type.S32).store(k.integer(0), k.integer(headSize).value()));
    }
  }

  private static int stored(EmulatedDevice device, LoadedKernel kernel) {
    var result = new int[1];
    try (var stream = device.openStream();
        var out = device.allocate(4)) {
      stream.launch(new Launch(kernel, Dim3.of(1), Dim3.of(1), 0, List.of(Argument.of(out))));
      stream.download(out, 0, MemorySegment.ofArray(result));
    }
    return result[0];
  }

  @Test
  void kernelsThatRequestsDefineEvictNoOthers() {
    try (var device = new EmulatedDevice()) {
      var kernels = new KernelCache(device);
      var own = new StoreHeadSize(0);
      kernels.get(own);
      for (int headSize = 0; headSize <= KernelCache.KERNELS; headSize++) {
        kernels.get(new StoreHeadSize(headSize, true));
      }
      assertThat(kernels.holds(own)).isTrue();
      assertThat(kernels.holds(new StoreHeadSize(0, true))).isFalse();
      assertThat(kernels.holds(new StoreHeadSize(KernelCache.KERNELS, true))).isTrue();
    }
  }

  @Test
  void rebuildsEvictedKernels() {
    var origins = new ArrayList<Origin>();
    try (var device = new EmulatedDevice()) {
      var kernels = new KernelCache(device, origins::add);
      var first = kernels.get(new StoreHeadSize(0));
      assertThat(kernels.get(new StoreHeadSize(0))).isSameAs(first);
      assertThat(origins).containsExactly(Origin.COMPILED, Origin.HIT);
      for (int headSize = 1; headSize <= KernelCache.KERNELS; headSize++) {
        kernels.get(new StoreHeadSize(headSize));
      }
      origins.clear();
      assertThat(stored(device, first)).as("an evicted kernel that is still in use").isZero();
      var used = kernels.get(new StoreHeadSize(KernelCache.KERNELS));
      var again = kernels.get(new StoreHeadSize(0));
      assertThat(origins).containsExactly(Origin.HIT, Origin.COMPILED);
      assertThat(again).isNotSameAs(first);
      assertThat(stored(device, again)).isZero();
      assertThat(stored(device, used)).isEqualTo(KernelCache.KERNELS);
    }
  }
}
