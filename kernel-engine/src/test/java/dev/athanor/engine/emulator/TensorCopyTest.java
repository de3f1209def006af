package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.Fill;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Asynchronous copies of tensor tiles. */
class TensorCopyTest {

  /**
   * The kernel's parameters are a map, {@code out} and {@code in}; {@code %rd0} is the address of
   * the map, {@code %rd1} and {@code %rd2} are the others. One block of 32 threads writes the 4096
   * bytes of the tile to {@code out}.
   */
  private static final String HEAD =
      """
      .version 8.6
      .target sm_90a
      .address_size 64
      .visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 in)
      {
      .shared .align 1024 .b8 tile[4096]; .shared .align 128 .b8 fresh[128];
      .shared .align 8 .b8 bar[8];
      .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
      mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0;
      ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
      mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r2, tile;
      shl.b32 %r5, %r0, 2; add.u32 %r6, %r2, %r5; cvt.u64.u32 %rd4, %r5;
      @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
      fence.mbarrier_init.release.cluster;
      mov.u32 %r8, %r6; add.u32 %r7, %r2, 4096;
      $clear: st.shared.u32 [%r8], -1; add.u32 %r8, %r8, 128;
      setp.lt.u32 %p2, %r8, %r7; @%p2 bra $clear;
      fence.proxy.async; bar.sync 0;
      """;

  private static final String LOAD =
      """
      @!%%p0 bra $wait;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %d;
      cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%%rd0, %s], [bar];
      $wait: mbarrier.try_wait.parity.shared::cta.b64 %%p1, [bar], 0; @!%%p1 bra $wait;
      """;

  /** Copies the tile to {@code out}, or {@code in} to the tile. */
  private static String move(String label, boolean out) {
    return """
    mov.u32 %%r7, 0; mov.u32 %%r8, %%r6; add.u64 %%rd5, %s, %%rd4;
    %s: %s
    add.u32 %%r8, %%r8, 128; add.u64 %%rd5, %%rd5, 128; add.u32 %%r7, %%r7, 1;
    setp.lt.u32 %%p2, %%r7, 32; @%%p2 bra %s;
    """
        .formatted(
            out ? "%rd1" : "%rd2",
            label,
            out
                ? "ld.shared.u32 %r9, [%r8]; st.global.u32 [%rd5], %r9;"
                : "ld.global.u32 %r9, [%rd5]; st.shared.u32 [%r8], %r9;",
            label);
  }

  private static String coordinates(int... start) {
    return Arrays.stream(start)
        .mapToObj(String::valueOf)
        .collect(Collectors.joining(", ", "{", "}"));
  }

  /** The words of the tensor's buffer and of {@code out}. */
  private static final class Found {
    final int[] tensor;
    final int[] out;

    Found(int[] tensor, int[] out) {
      this.tensor = tensor;
      this.out = out;
    }
  }

  private static Found run(Way way, String body, TensorMap map, int[] tensor, int... in) {
    try (var rig = new SampleRig(way, HEAD + body + "ret;\n}\n")) {
      var buffer = rig.buffer(tensor);
      var out = rig.buffer(new int[1024]);
      rig.run(
          "k",
          Dim3.of(1),
          Dim3.of(32),
          0,
          Argument.of(map, buffer),
          out,
          rig.buffer(Arrays.copyOf(in, 1024)));
      return new Found(rig.ints(buffer), rig.ints(out));
    }
  }

  private static String fault(String body, TensorMap map) {
    return catchThrowableOfType(
            KernelFault.class,
            () -> run(AsyncKernel.way(AsyncTiming.LAZY), body, map, new int[4096]))
        .reports()
        .getFirst();
  }

  private static int[] numbers(int count) {
    return IntStream.range(0, count).map(i -> 31 * i + 7).toArray();
  }

  /** Returns the map of a dense tensor of words in up to five dimensions. */
  private static TensorMap map(List<Long> sizes, List<Integer> box) {
    var strides =
        LongStream.range(1, sizes.size())
            .mapToObj(i -> 4 * sizes.subList(0, (int) i).stream().reduce(1L, (a, b) -> a * b))
            .toList();
    return TensorMap.of(Element.U32, sizes, strides, box);
  }

  /** Returns the elements of a tile. */
  private static int[] tile(TensorMap map, int[] tensor, int filling, int... start) {
    int rank = start.length;
    var tile = new int[map.tileBytes() / 4];
    for (int i = 0; i < tile.length; i++) {
      int rest = i;
      long at = 0;
      boolean inside = true;
      for (int d = 0; d < rank; d++) {
        int step = d == 0 ? 1 : map.elementStrides().get(d);
        long coordinate = start[d] + (long) (rest % map.copied(d)) * step;
        rest /= map.copied(d);
        inside &= coordinate >= 0 && coordinate < map.sizes().get(d);
        at += coordinate * (d == 0 ? 1 : map.strides().get(d - 1) / 4);
      }
      tile[i] = inside ? tensor[(int) at] : filling;
    }
    return tile;
  }

  private static void expectLoad(TensorMap map, int filling, int... start) {
    long words = map.sizes().stream().reduce(1L, (a, b) -> a * b);
    var tensor = numbers((int) words);
    var expected = tile(map, tensor, filling, start);
    var body =
        LOAD.formatted(map.tileBytes(), start.length, coordinates(start)) + move("$out", true);
    for (var timing : AsyncTiming.values()) {
      var found = run(AsyncKernel.way(timing), body, map, tensor);
      assertThat(Arrays.copyOf(found.out, expected.length)).isEqualTo(expected);
    }
  }

  @Test
  void oneToFiveDimensions() {
    expectLoad(map(List.of(100L), List.of(64)), 0, 20);
    expectLoad(map(List.of(12L, 9L), List.of(8, 4)), 0, 4, 3);
    expectLoad(map(List.of(8L, 5L, 6L), List.of(4, 3, 5)), 0, 2, 1, 1);
    expectLoad(map(List.of(4L, 3L, 4L, 5L), List.of(4, 2, 3, 2)), 0, 0, 1, 0, 2);
    expectLoad(map(List.of(4L, 3L, 2L, 3L, 4L), List.of(4, 2, 2, 2, 3)), 0, 0, 0, 0, 1, 1);
  }

  /** Tiles beyond each end of each dimension. */
  @Test
  void tilesBeyondTheTensor() {
    var map = map(List.of(12L, 9L), List.of(8, 4));
    for (int x : new int[] {-20, -3, 8, 40}) {
      for (int y : new int[] {-9, -2, 7, 9}) {
        expectLoad(map, 0, x, y);
      }
    }
    expectLoad(map(List.of(4L, 3L, 2L, 3L, 4L), List.of(4, 2, 2, 2, 3)), 0, -1, 2, 1, -1, 3);
  }

  @Test
  void nanFill() {
    var map = TensorMap.matrix(Element.F32, 9, 12, 4, 8).withFill(Fill.NAN);
    expectLoad(map, 0x7FFF_FFFF, 8, 7);
    var halves = TensorMap.of(Element.F16, List.of(8L), List.of(), List.of(16)).withFill(Fill.NAN);
    var body = LOAD.formatted(32, 1, "{4}") + move("$out", true);
    var found = run(AsyncKernel.way(AsyncTiming.LAZY), body, halves, new int[] {1, 2, 3, 4});
    assertThat(Arrays.copyOf(found.out, 8))
        .containsExactly(
            3, 4, 0x7FFF7FFF, 0x7FFF7FFF, 0x7FFF7FFF, 0x7FFF7FFF, 0x7FFF7FFF, 0x7FFF7FFF);
  }

  /** Every second element of one dimension and every third of another. */
  @Test
  void elementStrides() {
    expectLoad(
        map(List.of(8L, 9L, 7L), List.of(4, 6, 7)).withElementStrides(List.of(1, 2, 3)),
        0,
        2,
        -1,
        1);
  }

  /** Swizzles permute 16-byte chunks by bits of the row address. */
  @ParameterizedTest
  @EnumSource(SwizzleMode.class)
  void swizzles(SwizzleMode swizzle) {
    int columns = swizzle.width() / 4;
    var map = map(List.of((long) columns, 24L), List.of(columns, 16)).withSwizzle(swizzle);
    var tensor = numbers(24 * columns);
    var expected = new int[16 * columns];
    for (int row = 0; row < 16; row++) {
      for (int column = 0; column < columns; column++) {
        int address = 4 * (row * columns + column);
        int chunk = address / 16 ^ (address / 128 % 8 & (swizzle.width() / 16 - 1));
        expected[4 * chunk + address % 16 / 4] = tensor[(row + 5) * columns + column];
      }
    }
    var load = LOAD.formatted(64 * columns, 2, "{0, 5}");
    for (var way : AsyncKernel.ways()) {
      var found = run(way, load + move("$out", true), map, tensor);
      assertThat(Arrays.copyOf(found.out, expected.length)).as(way.toString()).isEqualTo(expected);
    }
    // a store undoes the swizzle
    var store =
        move("$in", false)
            + """
            fence.proxy.async; bar.sync 0;
            @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd0, {0, 5}], [tile];
            @%p0 cp.async.bulk.commit_group;
            @%p0 cp.async.bulk.wait_group 0;
            """;
    var stored =
        run(AsyncKernel.way(AsyncTiming.LAZY), store, map, new int[24 * columns], expected);
    assertThat(Arrays.copyOfRange(stored.tensor, 5 * columns, 21 * columns))
        .isEqualTo(Arrays.copyOfRange(tensor, 5 * columns, 21 * columns));
  }

  /** Elements of a tile outside the tensor are not written. */
  @ParameterizedTest
  @MethodSource("dev.athanor.engine.emulator.AsyncKernel#ways")
  void storesAreClipped(Way way) {
    var map = map(List.of(12L, 9L), List.of(8, 4));
    var tensor = numbers(12 * 9);
    var in = IntStream.range(0, 32).map(i -> -i).toArray();
    var expected = tensor.clone();
    for (int i = 0; i < 32; i++) {
      int x = 8 + i % 8;
      int y = 7 + i / 8;
      if (x < 12 && y < 9) {
        expected[12 * y + x] = -i;
      }
    }
    var body =
        move("$in", false)
            + """
            fence.proxy.async; bar.sync 0;
            @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd0, {8, 7}], [tile];
            @%p0 cp.async.bulk.commit_group;
            @%p0 cp.async.bulk.wait_group 0;
            """;
    assertThat(run(way, body, map, tensor, in).tensor).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"add, 9", "min, 2", "max, 7", "and, 2", "or, 7", "xor, 5", "inc, 0", "dec, 2"})
  void reductions(String operation, int expected) {
    var map = map(List.of(8L, 4L), List.of(8, 2));
    var tensor = new int[32];
    Arrays.fill(tensor, 7);
    var in = new int[16];
    Arrays.fill(in, 2);
    var body =
        move("$in", false)
            + """
            fence.proxy.async; bar.sync 0;
            @%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.OP.tile.bulk_group [%rd0, {0, 1}], [tile];
            @%p0 cp.async.bulk.commit_group;
            @%p0 cp.async.bulk.wait_group 0;
            """
                .replace("OP", operation);
    var found = run(AsyncKernel.way(AsyncTiming.LAZY), body, map, tensor, in).tensor;
    assertThat(Arrays.copyOfRange(found, 8, 24)).containsOnly(expected);
    assertThat(Arrays.copyOf(found, 8)).containsOnly(7);
  }

  /** The kernel itself builds a map from zeroed memory and copies it to global memory. */
  @ParameterizedTest
  @MethodSource("dev.athanor.engine.emulator.AsyncKernel#ways")
  void mapsModifiedByTheKernel(Way way) {
    var make =
        """
        mov.u32 %r10, fresh; add.u32 %r11, %r10, %r5; st.shared.u32 [%r11], 0; bar.warp.sync -1;
        @!%p0 bra $made;
        tensormap.replace.tile.global_address.shared::cta.b1024.b64 [fresh], %rd2;
        tensormap.replace.tile.rank.shared::cta.b1024.b32 [fresh], 1;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [fresh], 0, 8;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [fresh], 1, 4;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [fresh], 0, 12;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [fresh], 1, 9;
        mov.b64 %rd6, 48;
        tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [fresh], 0, %rd6;
        tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [fresh], 0, 1;
        tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [fresh], 1, 1;
        tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [fresh], 2;
        tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [fresh], 0;
        tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [fresh], 1;
        tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [fresh], 0;
        $made: bar.warp.sync -1;
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [fresh], 128;
        fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
        mov.b64 %rd0, %rd1;
        """;
    var map = map(List.of(12L, 9L), List.of(8, 4)).withSwizzle(SwizzleMode.BYTES_32);
    var in = numbers(12 * 9);
    var plain = tile(map, in, 0, 6, 4);
    var expected = new int[32];
    for (int i = 0; i < 32; i++) {
      expected[(int) SwizzleMode.BYTES_32.place(4L * i) / 4] = plain[i];
    }
    var found = run(way, make + LOAD.formatted(128, 2, "{6, 4}") + move("$out", true), map, in, in);
    assertThat(Arrays.copyOf(found.out, 32)).isEqualTo(expected);
  }

  @Test
  void reportsInvalidCopies() {
    var map = map(List.of(12L, 9L), List.of(8, 4));
    var load = LOAD.formatted(128, 2, "{0, 0}");
    assertThat(fault(LOAD.formatted(128, 3, "{0, 0, 0}"), map))
        .endsWith("has 3 coordinates, but the tensor map 2 dimensions");
    assertThat(fault(load.replace("[tile]", "[tile+64]"), map))
        .endsWith("address 0x40 is not a multiple of 128");
    assertThat(fault(load.replace("[tile]", "[tile+4224]"), map)).contains("touches bytes ");
    assertThat(fault("add.u64 %rd0, %rd0, 32;\n" + load, map)).contains("is not a multiple of 64");
    assertThat(fault("mov.b64 %rd0, %rd2;\n" + load, map))
        .contains("a tensor map has sizes from 1 to 4294967295, got 0 for dimension 0");
    assertThat(fault("st.global.u32 [%rd2+76], 1; mov.b64 %rd0, %rd2;\n" + load, map))
        .endsWith("a tensor map has a .interleave_layout from 0 to 0, got 1");
    assertThat(fault(load.replace("128;", "256;"), map))
        .contains("waits forever: for parity 0 of the mbarrier")
        .endsWith("to which 1 of 1 arrivals and 128 of 256 bytes have come");
    assertThat(
            fault(
                "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group"
                    + " [%rd0, {0, 0}], [tile];\n",
                TensorMap.matrix(Element.F32, 8, 8, 4, 8)))
        .endsWith(".f32 does not support the reduction .min");
  }

  /** Unsupported copies are rejected by name. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes | is not supported; tensor copies support tiles, not .im2col",
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes | is not supported; tensor copies support tiles, not .tile::gather4",
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 | is not supported; sparse products are out of scope"
      })
  void rejectsUnsupportedCopies(String instruction, String why) {
    var refused =
        catchThrowableOfType(
            PtxSyntaxException.class,
            () -> Parser.parse(HEAD + instruction + " [tile];\nret;\n}\n", "test.ptx"));
    assertThat(refused.problem()).endsWith(why);
  }
}
