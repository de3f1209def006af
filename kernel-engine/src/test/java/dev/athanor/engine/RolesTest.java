package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Blocks whose warpgroups have roles, with mbarriers and copies by the tensor memory accelerator.
 */
class RolesTest {

  private static final int ROWS = 32;
  private static final int COLUMNS = 32;
  private static final int CLUSTER = 2;

  /**
   * One warpgroup of each of two blocks copies half of a matrix to both; the other warpgroup adds
   * 1, and writes the matrix into one of two.
   */
  private static Kernel kernel() {
    return KernelBuilder.buildCluster(
        "add_one",
        2 * WarpRole.GROUP,
        CLUSTER,
        k -> {
          var in = k.tensor("in");
          var out = k.tensor("out");
          var cluster = new Cluster(k, CLUSTER);
          var shared = k.dynamicShared(128);
          var tile = shared.at(k.integer(0), Type.F32, ROWS, COLUMNS, COLUMNS);
          var mbarriers = new Mbarriers(k, shared.at(k.integer(tile.bytes())));
          var zero = k.integer(0);
          k.when(
              k.thread().eq(0),
              () -> {
                mbarriers.initialize(0, 1);
                cluster.publishMbarriers();
              });
          cluster.awaitMbarriers();
          var half = cluster.rank().times(ROWS / CLUSTER);
          WarpRole.divide(
              k,
              List.of(
                  new WarpRole(
                      1,
                      24,
                      _ ->
                          k.when(
                              k.thread().lt(KernelBuilder.WARP),
                              () ->
                                  k.when(
                                      k.elect(),
                                      () -> {
                                        mbarriers.arriveAndExpect(zero, tile.bytes());
                                        in.multicast(
                                            tile.at(half.times(COLUMNS * Float.BYTES)),
                                            mbarriers,
                                            zero,
                                            List.of(zero, half),
                                            cluster.all());
                                      }))),
                  new WarpRole(
                      1,
                      240,
                      group -> {
                        var thread = k.thread().minus(k.integer(WarpRole.GROUP));
                        mbarriers.await(zero, zero);
                        for (int i = 0; i < ROWS * COLUMNS; i += WarpRole.GROUP) {
                          var row = thread.div(COLUMNS).plus(i / COLUMNS);
                          var column = thread.rem(COLUMNS);
                          var value = tile.load(row, column).widen();
                          tile.store(row, column, value.plus(k.real(Type.F32, 1)));
                        }
                        k.fenceAsyncProxy();
                        k.barrier(group.plus(1), WarpRole.GROUP);
                        k.when(
                            thread.eq(0),
                            () -> {
                              out.store(tile, List.of(zero, zero, k.block()));
                              k.commitBulkCopies();
                              k.awaitBulkReads(0);
                            });
                      })));
          cluster.barrier();
        });
  }

  @Test
  void warpgroupsCopyAndCompute() {
    var options = EmulatorOptions.DEFAULT.withTarget(Target.SM_90A).withSanitize(Sanitize.FULL);
    int elements = ROWS * COLUMNS;
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream();
        var in = device.allocate(elements * 4L);
        var out = device.allocate(4L * CLUSTER * elements)) {
      var numbers = new float[elements];
      IntStream.range(0, elements).forEach(i -> numbers[i] = i);
      stream.upload(MemorySegment.ofArray(numbers), in, 0);
      var kernel = kernel();
      var from = TensorMap.matrix(Element.F32, ROWS, COLUMNS, ROWS / CLUSTER, COLUMNS);
      var to =
          TensorMap.of(
              Element.F32,
              List.of((long) COLUMNS, (long) ROWS, (long) CLUSTER),
              List.of(COLUMNS * 4L, elements * 4L),
              List.of(COLUMNS, ROWS, 1));
      stream.launch(
          new Launch(
              device.load(Module.of(kernel), kernel.name()),
              Dim3.of(CLUSTER),
              Dim3.of(2 * WarpRole.GROUP),
              elements * 4 + Mbarriers.BYTES,
              List.of(Argument.of(from, in), Argument.of(to, out))));
      var results = new float[CLUSTER * elements];
      stream.download(out, 0, MemorySegment.ofArray(results));
      stream.synchronize();
      for (int i = 0; i < results.length; i++) {
        assertThat(results[i]).isEqualTo(i % elements + 1);
      }
    }
  }

  @Test
  void registersOfARoleAreAMultipleOfEight() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new WarpRole(1, 100, _ -> {}))
        .withMessageEndingWith(
            ": threads of a role have a multiple of 8 registers from 24 to 240, got 100");
  }

  @Test
  void rolesFillTheBlockAndShareItsRegisters() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> divide(384, new WarpRole(2, 24, _ -> {})))
        .withMessageEndingWith(
            ": roles have 2 warpgroups and 48 registers; the block has 3 warpgroups and 504 registers"
                + " for a lane of each");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> divide(384, new WarpRole(1, 40, _ -> {}), new WarpRole(2, 240, _ -> {})))
        .withMessageContaining("roles have 3 warpgroups and 520 registers");
  }

  private static void divide(int threads, WarpRole... roles) {
    KernelBuilder.buildCluster("divided", threads, 1, k -> WarpRole.divide(k, List.of(roles)));
  }
}
