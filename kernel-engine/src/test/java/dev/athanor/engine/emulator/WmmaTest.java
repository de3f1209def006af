package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Round trips of matrices through {@code wmma}, for all shapes and layouts. */
class WmmaTest {

  /** A product of integers, exact in every format, with padded rows. */
  @ParameterizedTest
  @CsvSource({
    // shape, types of D, A, B, C, words of their registers, layouts of A, B, C, D, padding
    "m16n16k16, f32, f16, f32,   4 8 8 8,  row, col, row, row, 0",
    "m16n16k16, f32, f16, f32,   4 8 8 8,  col, row, col, row, 8",
    "m8n32k16,  f32, f16, f32,   4 8 8 8,  row, row, row, col, 8",
    "m32n8k16,  f32, f16, f32,   4 8 8 8,  col, col, col, col, 16",
    "m16n16k16, f16, f16, f16,   4 8 8 4,  row, col, row, row, 8",
    "m8n32k16,  f16, f16, f32,   4 8 8 8,  col, row, row, row, 0",
    "m32n8k16,  f32, f16, f16,   4 8 8 4,  row, col, col, row, 0",
    "m16n16k16, f32, bf16, f32,  8 4 4 8,  row, row, row, row, 8",
    "m8n32k16,  f32, bf16, f32,  8 2 8 8,  col, col, row, col, 0",
    "m32n8k16,  f32, bf16, f32,  8 8 2 8,  row, col, col, row, 16",
    "m16n16k8,  f32, tf32, f32,  8 4 4 8,  row, col, row, col, 4",
    "m16n16k8,  f32, tf32, f32,  8 4 4 8,  col, row, col, row, 0",
    "m8n8k4,    f64, f64, f64,   2 1 1 2,  row, col, row, row, 2",
    "m8n8k4,    f64, f64, f64,   2 1 1 2,  col, row, col, col, 0",
    "m16n16k16, s32, s8, s32,    8 2 2 8,  row, col, row, row, 16",
    "m8n32k16,  s32, u8, s32,    8 1 4 8,  col, row, row, col, 0",
    "m32n8k16,  s32, s8, s32,    8 4 1 8,  row, row, col, row, 16",
    "m8n8k32,   s32, s4, s32,    2 1 1 2,  row, col, row, col, 32",
    "m8n8k32,   s32, u4, s32,    2 1 1 2,  row, col, col, row, 0",
    "m8n8k128,  s32, b1, s32,    2 1 1 2,  row, col, row, row, 128"
  })
  void integerProductsAreExact(
      String shape,
      String typeD,
      String type,
      String typeC,
      String registers,
      String layoutA,
      String layoutB,
      String layoutC,
      String layoutD,
      int padding) {
    var sizes = MatrixShape.of(new Modifiers(List.of(Modifier.of(shape))));
    int m = sizes.m();
    int n = sizes.n();
    int k = sizes.k();
    long seed = TestTier.seed();
    var random = new Random(seed);
    var a = new Matrix(m, k, type, layoutA, padding).fill(random);
    var b = new Matrix(k, n, type, layoutB, padding).fill(random);
    var c = new Matrix(m, n, typeC, layoutC, padding).fill(random);
    var d = new Matrix(m, n, typeD, layoutD, padding);
    int countD = typeD.equals("f16") ? 4 : type.equals("f16") ? 8 : digit(registers, 0);
    var text = new StringBuilder();
    var listA = list(text, "a", type, digit(registers, 1));
    var listB = list(text, "b", type, digit(registers, 2));
    var listC = list(text, "c", typeC, digit(registers, 3));
    var listD = list(text, "d", typeD, countD);
    var types =
        type.equals("f16") ? typeD + "." + typeC : typeD + "." + type + "." + type + "." + typeC;
    text.append(
        """
        ld.param.u64 %%rd0, [pa]; ld.param.u64 %%rd1, [pb]; ld.param.u64 %%rd2, [pc]; ld.param.u64 %%rd3, [pd];
        mov.u32 %%r0, %d; mov.u32 %%r1, %d; mov.u32 %%r2, %d; mov.u32 %%r3, %d;
        wmma.load.a.sync.aligned.%s.%s.global.%s %s, [%%rd0], %%r0;
        wmma.load.b.sync.aligned.%s.%s.global.%s %s, [%%rd1], %%r1;
        wmma.load.c.sync.aligned.%s.%s.global.%s %s, [%%rd2], %%r2;
        wmma.mma.%ssync.aligned.%s.%s.%s.%s %s, %s, %s, %s;
        wmma.store.d.sync.aligned.%s.%s.global.%s [%%rd3], %s, %%r3;
        """
            .formatted(
                a.stride(),
                b.stride(),
                c.stride(),
                d.stride(),
                layoutA,
                shape,
                type,
                listA,
                layoutB,
                shape,
                type,
                listB,
                layoutC,
                shape,
                typeC,
                listC,
                type.equals("b1") ? "and.popc." : "",
                layoutA,
                layoutB,
                shape,
                types,
                listD,
                listA,
                listB,
                listC,
                layoutD,
                shape,
                typeD,
                listD));
    run(text.toString(), a, b, c, d);
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        long sum = c.get(i, j);
        for (int l = 0; l < k; l++) {
          sum += a.get(i, l) * b.get(l, j);
        }
        assertThat(d.get(i, j)).as("seed %d, row %d, column %d", seed, i, j).isEqualTo(sum);
      }
    }
  }

  /** Uses shared memory without a stride. */
  @Test
  void strideIsOptional() {
    var a = new Matrix(16, 16, "s8", "row", 0).fill(new Random(1));
    var d = new Matrix(16, 16, "s32", "col", 0);
    run(
        """
        .shared .align 32 .b8 tile[512];
        .reg .b32 %a<4>; .reg .b32 %b<4>; .reg .b32 %c<8>; .reg .b64 %rd<4>; .reg .b32 %r<4>;
        ld.param.u64 %rd0, [pa]; ld.param.u64 %rd3, [pd];
        mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 8; add.u64 %rd0, %rd0, %rd1;
        ld.global.v2.b32 {%a0, %a1}, [%rd0];
        mov.u32 %r1, tile; shl.b32 %r2, %r0, 3; add.u32 %r1, %r1, %r2;
        st.shared.v2.b32 [%r1], {%a0, %a1};
        bar.sync 0;
        mov.u32 %r1, tile;
        wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {%a0, %a1}, [%r1];
        wmma.load.b.sync.aligned.col.m16n16k16.shared::cta.s8 {%b0, %b1}, [tile];
        mov.u32 %c0, 0; mov.u32 %c1, 0; mov.u32 %c2, 0; mov.u32 %c3, 0;
        mov.u32 %c4, 0; mov.u32 %c5, 0; mov.u32 %c6, 0; mov.u32 %c7, 0;
        wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32
          {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, {%a0, %a1}, {%b0, %b1},
          {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};
        wmma.store.d.sync.aligned.col.m16n16k16.global.s32
          [%rd3], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};
        """,
        a, a, a, d);
    for (int i = 0; i < 16; i++) {
      for (int j = 0; j < 16; j++) {
        long sum = 0;
        for (int l = 0; l < 16; l++) {
          sum += a.get(i, l) * a.get(j, l);
        }
        assertThat(d.get(i, j)).as("row %d, column %d", i, j).isEqualTo(sum);
      }
    }
  }

  @Test
  void invalidAddressesAndStridesFault() {
    assertThatThrownBy(() -> load("mov.u32 %r1, 15;", "%rd0"))
        .hasMessageContaining("the stride is 15, but a row of the matrix has 16 elements");
    assertThatThrownBy(() -> load("mov.u32 %r1, %tid.x; add.u32 %r1, %r1, 16;", "%rd0"))
        .hasMessageContaining("thread (1,0,0) of block (0,0,0) of kernel test")
        .hasMessageContaining("the stride is 17, but 16 in lane 0; all lanes must give the same");
    assertThatThrownBy(() -> load("mov.u32 %r1, 16;", "%rd0+16"))
        .hasMessageContaining("is not a multiple of 32");
    assertThatThrownBy(() -> load("mov.u32 %r1, 32;", "%rd0"))
        .hasMessageContaining("touches bytes 0..991 of");
    assertThatThrownBy(() ->
            load(
                "mov.u32 %r1, %tid.x; cvt.u64.u32 %rd1, %r1; add.u64 %rd0, %rd0, %rd1; mov.u32 %r1, 16;",
                "%rd0"))
        .hasMessageContaining("in lane 0; all lanes must give the same");
  }

  private static void load(String before, String address) {
    var a = new Matrix(16, 16, "f16", "row", 0);
    run(
        """
        .reg .b32 %%a<8>; .reg .b64 %%rd<2>; .reg .b32 %%r<2>;
        ld.param.u64 %%rd0, [pa];
        %s
        wmma.load.a.sync.aligned.row.m16n16k16.global.f16
          {%%a0, %%a1, %%a2, %%a3, %%a4, %%a5, %%a6, %%a7}, [%s], %%r1;
        """
            .formatted(before, address),
        a,
        a,
        a,
        a);
  }

  private static int digit(String text, int word) {
    return Character.digit(text.charAt(2 * word), 10);
  }

  /** Declares registers and returns them in braces. */
  private static String list(StringBuilder text, String name, String type, int count) {
    var kind = type.equals("f64") ? "f64" : type.equals("f32") ? "f32" : "b32";
    text.append(".reg .%s %%%s<%d>;\n".formatted(kind, name, count));
    var list = new StringBuilder("{");
    for (int i = 0; i < count; i++) {
      list.append(i == 0 ? "" : ", ").append("%").append(name).append(i);
    }
    return list.append("}").toString();
  }

  private static void run(String body, Matrix... matrices) {
    var declared = body.contains("%rd<") ? "" : ".reg .b64 %rd<4>; .reg .b32 %r<4>;\n";
    var text =
        """
        .version 8.0
        .target sm_90
        .address_size 64
        .visible .entry test(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
        {
        """
            + declared
            + body
            + "ret;\n}\n";
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT);
        var stream = device.openStream()) {
      var buffers =
          List.of(matrices).stream()
              .map(matrix -> {
                var buffer = device.allocate(matrix.bytes.capacity());
                stream.upload(MemorySegment.ofBuffer(matrix.bytes), buffer, 0);
                return buffer;
              })
              .toList();
      stream.launch(
          new Launch(
              device.load(Parser.parse(text, "wmma.ptx"), "test"),
              Dim3.of(1),
              Dim3.of(32),
              0,
              buffers.stream().map(Argument::of).toList()));
      stream.download(buffers.getLast(), 0, MemorySegment.ofBuffer(matrices[3].bytes));
    }
  }

  /** A matrix of integers in memory. */
  private static final class Matrix {
    private final int rows;
    private final int columns;
    private final String type;
    private final boolean byRows;
    private final int padding;
    private final int bits;
    private final ByteBuffer bytes;

    Matrix(int rows, int columns, String type, String layout, int padding) {
      this.rows = rows;
      this.columns = columns;
      this.type = type;
      this.byRows = layout.equals("row");
      this.padding = padding;
      this.bits =
          type.equals("bf16") ? 16 : type.equals("tf32") ? 32 : Integer.parseInt(type.substring(1));
      int lines = byRows ? rows : columns;
      this.bytes =
          ByteBuffer.allocate(((lines - 1) * stride() + stride() - padding) * bits / 8)
              .order(ByteOrder.LITTLE_ENDIAN);
    }

    int stride() {
      return (byRows ? columns : rows) + padding;
    }

    Matrix fill(Random random) {
      for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
          int positive = random.nextInt(bits == 1 ? 2 : 8);
          set(i, j, type.startsWith("u") || bits == 1 ? positive : positive - 4);
        }
      }
      return this;
    }

    private int index(int row, int column) {
      return byRows ? row * stride() + column : column * stride() + row;
    }

    private void set(int row, int column, int value) {
      int at = index(row, column) * bits / 8;
      switch (type) {
        case "f64" -> bytes.putDouble(at, value);
        case "f32", "tf32" -> bytes.putFloat(at, value);
        case "f16" -> bytes.putShort(at, Float.floatToFloat16(value));
        case "bf16" -> bytes.putShort(at, (short) (Float.floatToRawIntBits(value) >> 16));
        case "s32" -> bytes.putInt(at, value);
        case "s8", "u8" -> bytes.put(at, (byte) value);
        default -> {
          int shift = index(row, column) * bits % 8;
          int mask = (1 << bits) - 1;
          bytes.put(at, (byte) ((bytes.get(at) & ~(mask << shift)) | (value & mask) << shift));
        }
      }
    }

    long get(int row, int column) {
      int at = index(row, column) * bits / 8;
      return switch (type) {
        case "f64" -> (long) bytes.getDouble(at);
        case "f32", "tf32" -> (long) bytes.getFloat(at);
        case "f16" -> (long) Float.float16ToFloat(bytes.getShort(at));
        case "bf16" -> (long) Float.intBitsToFloat(bytes.getShort(at) << 16);
        case "s32" -> bytes.getInt(at);
        case "s8" -> bytes.get(at);
        case "u8" -> bytes.get(at) & 0xFF;
        default -> {
          int low = (bytes.get(at) >>> (index(row, column) * bits % 8)) & ((1 << bits) - 1);
          yield type.equals("s4") && low > 7 ? low - 16 : low;
        }
      };
    }
  }
}
