package dev.athanor.vulkan.spirv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Translates kernels with {@code wmma}. No driver of the tests has cooperative matrices. */
class MatricesTest {

  private static final MatrixShape SHAPE = new MatrixShape(16, 16, 16);

  private static final Set<CooperativeProduct> PRODUCTS =
      Set.of(
          new CooperativeProduct(SHAPE, Type.F32, Type.F32),
          new CooperativeProduct(SHAPE, Type.F16, Type.F16));

  /** A product of two warps, of which each has one tile. The branch is uniform in a warp. */
  private static final String PRODUCT =
      """
      FILL
      mov.u32 %k, 0;
      again:
      ld.global.b32 %w, [%from];
      st.shared.b32 [%at], %w;
      st.shared.b16 [%at+1024], %h;
      bar.sync 0;
      wmma.load.a.sync.aligned.ROWS.m16n16k16.shared.f16 {A}, [%tile], 24;
      wmma.load.b.sync.aligned.COLS.m16n16k16.shared.f16 {B}, [%tile+1024];
      wmma.mma.sync.aligned.ROWS.COLS.m16n16k16.TYPE.TYPE {D}, {A}, {B}, {D};
      bar.sync 0;
      add.u32 %k, %k, 16;
      setp.lt.u32 %p, %k, %steps;
      @%p bra again;
      wmma.store.d.sync.aligned.row.m16n16k16.global.TYPE [%to], {D}, %stride;
      setp.ge.u32 %q, %tid, 32;
      @%q bra end;
      wmma.store.d.sync.aligned.col.m16n16k16.shared.TYPE [%tile], {D};
      bar.warp.sync -1;
      ld.shared.b32 %w, [%at];
      st.global.b32 [%from], %w;
      end:
      """;

  @ParameterizedTest
  @CsvSource({"row, col, f32", "col, row, f32", "row, row, f16", "col, col, f16"})
  void shadersAreValid(String rows, String columns, String type) {
    SpirvVal.requireWithMatrices(shader(product(rows, columns, type), PRODUCTS));
  }

  /** Warps that leave the loop wait for the others. */
  @Test
  void loopsOfWarpsAreValid() {
    var text = product("row", "row", "f32").replace("mov.u32 %k, 0;", "shr.u32 %k, %tid, 5;");
    SpirvVal.requireWithMatrices(shader(text, PRODUCTS));
  }

  @Test
  void factorsMayBeInGlobalMemory() {
    var shader =
        shader(
            """
            wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {A}, [%from], %stride;
            wmma.load.b.sync.aligned.row.m16n16k16.f16 {B}, [%from+512];
            wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {C}, [%to];
            wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {D}, {A}, {B}, {C};
            @%p wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%to], {D};
            membar.gl;
            red.global.add.u32 [%from], 1;
            """,
            PRODUCTS);
    assertThat(MatrixText.of(shader).lines().filter(line -> line.contains("Load")))
        .containsExactly(
            "Load A f16 16x16, rows of n/2 words in device memory",
            "Load B f16 16x16, rows of 16/2 words in device memory",
            "Load C f32 16x16, rows of 16 words in device memory");
    SpirvVal.requireWithMatrices(shader);
  }

  @Test
  void fillsLoadsMultipliesAndStores() {
    assertThat(MatrixText.of(shader(product("row", "col", "f32"), PRODUCTS)))
        .isEqualTo(
            """
            MemoryModel 3
            Fill C f32 16x16 with 0x0
            ControlBarrier 0x6148
            Load A f16 16x16, rows of 24/2 words in shared memory
            Load B f16 16x16, columns of 16/2 words in shared memory
            MulAdd C f32 16x16
            ControlBarrier 0x6148
            Store C f32 16x16, rows of n words in device memory
            Store C f32 16x16, columns of 16 words in shared memory
            ControlBarrier 0x6148
            """);
  }

  @Test
  void fillsMayInterleave() {
    var moves =
        IntStream.range(0, 8)
            .mapToObj("mov.f32 %%d%1$d, 0f3F800000; mov.f32 %%c%1$d, 0f80000000;"::formatted)
            .collect(Collectors.joining(" "));
    var stores =
        """
        mov.b32 %e3, 0x3C003C00; mov.b32 %e1, 0x3C003C00;
        wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%tile], {C};
        mov.b32 %e0, 0x3C003C00; mov.b32 %e2, 0x3C003C00;
        wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%tile], {D};
        wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%tile], {%e0, %e1, %e2, %e3};
        """;
    assertThat(MatrixText.of(shader(moves + stores, PRODUCTS)).lines())
        .contains(
            "Fill C f32 16x16 with 0x3f800000",
            "Fill C f32 16x16 with 0x80000000",
            "Fill C f16 16x16 with 0x3c00")
        .hasSize(7);
  }

  @Test
  void otherShapesMayBeSupported() {
    var shape = new MatrixShape(32, 8, 16);
    var shader =
        shader(
            """
            wmma.load.a.sync.aligned.row.m32n8k16.shared.f16 {A}, [%tile];
            wmma.load.a.sync.aligned.col.m32n8k16.shared.f16 {A}, [%tile];
            wmma.load.b.sync.aligned.row.m32n8k16.shared.f16 {B}, [%tile];
            wmma.load.b.sync.aligned.col.m32n8k16.shared.f16 {B}, [%tile];
            wmma.load.c.sync.aligned.row.m32n8k16.shared.f16 {%e0, %e1, %e2, %e3}, [%tile];
            wmma.mma.sync.aligned.row.col.m32n8k16.f32.f16 {D}, {A}, {B}, {%e0, %e1, %e2, %e3};
            wmma.store.d.sync.aligned.col.m32n8k16.shared.f32 [%tile], {D};
            """,
            Set.of(new CooperativeProduct(shape, Type.F16, Type.F32)));
    assertThat(MatrixText.of(shader))
        .isEqualTo(
            """
            MemoryModel 3
            Load A f16 32x16, rows of 16/2 words in shared memory
            Load A f16 32x16, columns of 32/2 words in shared memory
            Load B f16 16x8, rows of 8/2 words in shared memory
            Load B f16 16x8, columns of 16/2 words in shared memory
            Load C f16 32x8, rows of 8/2 words in shared memory
            MulAdd C f32 32x8
            Store C f32 32x8, columns of 32 words in shared memory
            """);
    SpirvVal.requireWithMatrices(shader);
  }

  @Test
  void accessesAreNotPrivate() {
    assertThat(MatrixText.privateAccesses(shader(product("row", "col", "f32"), PRODUCTS))).isZero();
    var other = "ld.shared.b32 %w, [%at]; st.global.b32 [%from], %w;"; // and three parameters
    assertThat(MatrixText.privateAccesses(shader(other, PRODUCTS))).isEqualTo(5);
  }

  @Test
  void otherKernelsHaveTheMemoryModelOfGlsl() {
    assertThat(MatrixText.of(shader("bar.sync 0;", PRODUCTS)))
        .isEqualTo("MemoryModel 1\nControlBarrier 0x148\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '!',
      value = {
        "FILL add.f32 %d3, %d3, %d4; STORE"
            + " ! it uses %d3, a register of a wmma fragment, in add.f32; the layout",
        "FILL @%p mov.f32 %d1, 0f00000000; STORE"
            + " ! it uses %d1, a register of a wmma fragment, in mov.f32;",
        "FILL mov.b32 %w, %d7; STORE ! it uses %d7, a register of a wmma fragment, in mov.b32",
        "FILL mov.f32 %d1, 0f3F800000; STORE"
            + " ! it does not set all registers of a wmma fragment to the same literal, from %d0 on",
        "FILL STORE mov.f32 %d0, 0f00000000; STORE"
            + " ! it does not set all registers of a wmma fragment to the same literal, from %d0 on",
        "FILL bra next; next: mov.f32 %d0, 0f00000000; STORE"
            + " ! it does not set all registers of a wmma fragment to the same literal, from %d0 on",
        "FILL wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {D}, {A}, {A}, {D}; STORE"
            + " ! it uses %a0 in two different fragments of wmma",
        "FILL wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
            + " {%d1,%d0,%d2,%d3,%d4,%d5,%d6,%d7}, {A}, {B}, {D}; STORE"
            + " ! it uses %d0 in two different fragments of wmma",
        "FILL wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
            + " {D}, {%a0,%a0,%a1,%a2,%a3,%a4,%a5,%a6}, {B}, {D};"
            + " ! it repeats a register in a fragment of wmma",
        "FILL wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 {D}, {A}, {B}, {%e0,%e1,%e2,%e3};"
            + " ! it has wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16, whose shape and types",
        "FILL wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {D}, {A}, {B}, {0f00000000,%c1,%c2,"
            + "%c3,%c4,%c5,%c6,%c7}; STORE"
            + " ! it has wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 with a fragment that is"
            + " not of registers",
        "wmma.load.a.sync.aligned.row.m32n8k16.shared.f16 {A}, [%tile];"
            + " ! it has wmma.load.a.sync.aligned.row.m32n8k16.shared.f16, whose shape and types",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {%a0,%a1}, [%tile];"
            + " ! it has wmma.load.a.sync.aligned.row.m16n16k16.shared.s8, whose shape and types",
        "mov.b32 %e0, 0x00013C00; mov.b32 %e1, 0x00013C00; mov.b32 %e2, 0x00013C00;"
            + " mov.b32 %e3, 0x00013C00;"
            + " wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%tile], {%e0,%e1,%e2,%e3};"
            + " ! it sets the halves of a wmma fragment of f16, from %e0 on, to different literals",
      })
  void saysWhyItRefuses(String instructions, String message) {
    var text =
        instructions.replace(
            "STORE", "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%tile], {D};");
    assertThatThrownBy(() -> shader(fill(text, "f32"), PRODUCTS))
        .isInstanceOf(UnsupportedKernelException.class)
        .hasMessageStartingWith("it cannot run on Vulkan: " + message);
  }

  @Test
  void refusesWithoutMatricesOrWholeWarps() {
    var kernel = kernel(product("row", "col", "f32"));
    var whole =
        "it cannot run on Vulkan: it has wmma instructions, which need a device with subgroups of 32"
            + " threads, and blocks of whole warps";
    assertThatThrownBy(
            () -> Translator.translate(kernel, Dim3.of(64), 0, features(false, Set.of())))
        .hasMessage(whole);
    assertThatThrownBy(() -> Translator.translate(kernel, Dim3.of(48), 0, features(true, PRODUCTS)))
        .hasMessage(whole);
    assertThatThrownBy(() -> Translator.translate(kernel, Dim3.of(64), 0, features(true, Set.of())))
        .hasMessageContaining("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16, whose shape and");
    assertThat(features(true, Set.of()).capability().lacking(() -> kernel))
        .contains("wmma instructions");
    assertThat(features(true, PRODUCTS).capability().lacking(() -> kernel)).isEmpty();
  }

  private static ShaderFeatures features(boolean subgroups, Set<CooperativeProduct> products) {
    return new ShaderFeatures(
        subgroups, true, true, true, true, true, true, true, true, products, 48 << 10);
  }

  private static String product(String rows, String columns, String type) {
    var halves = list("e", 4);
    var text = type.equals("f16") ? PRODUCT.replace("{D}", "{" + halves + "}") : PRODUCT;
    return fill(text, type).replace("ROWS", rows).replace("COLS", columns).replace("TYPE", type);
  }

  private static String fill(String text, String type) {
    boolean half = type.equals("f16");
    var move = half ? "mov.b32 %%e%d, 0;" : "mov.f32 %%d%d, 0f00000000;";
    var moves =
        IntStream.range(0, half ? 4 : 8).mapToObj(move::formatted).collect(Collectors.joining(" "));
    return text.replace("FILL", moves);
  }

  private static String list(String name, int count) {
    return IntStream.range(0, count).mapToObj(i -> "%" + name + i).collect(Collectors.joining(","));
  }

  private static Shader shader(String instructions, Set<CooperativeProduct> products) {
    return Translator.translate(kernel(instructions), Dim3.of(64), 0, features(true, products));
  }

  private static Kernel kernel(String instructions) {
    var text =
        """
        .version 8.7
        .target sm_72
        .address_size 64
        .visible .entry product(.param .u64 in, .param .u64 out, .param .u32 steps) {
          .reg .b32 %a<8>, %b<8>, %e<4>, %at, %tile, %k, %w, %tid, %steps, %stride;
          .reg .f32 %c<8>, %d<8>;
          .reg .b16 %h;
          .reg .b64 %from, %to;
          .reg .pred %p, %q;
          .shared .align 32 .b8 tiles[4096];
          mov.u32 %tid, %tid.x;
          ld.param.u64 %from, [in];
          ld.param.u64 %to, [out];
          ld.param.u32 %steps, [steps];
          shl.b32 %at, %tid, 2;
          shr.u32 %tile, %tid, 5;
          shl.b32 %tile, %tile, 11;
          mov.u32 %w, tiles;
          add.u32 %tile, %tile, %w;
          mov.b16 %h, 0x3C00;
          mov.u32 %stride, 64;
          setp.gt.u32 %p, %steps, 7;
          INSTRUCTIONS
          ret;
        }
        """
            .replace("INSTRUCTIONS", instructions)
            .replace("{A}", "{" + list("a", 8) + "}")
            .replace("{B}", "{" + list("b", 8) + "}")
            .replace("{C}", "{" + list("c", 8) + "}")
            .replace("{D}", "{" + list("d", 8) + "}");
    return Parser.parse(text, "product.ptx").kernel("product").orElseThrow();
  }
}
