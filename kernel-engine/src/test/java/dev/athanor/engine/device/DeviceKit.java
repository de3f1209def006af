package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A device, a stream and kernels for tests that every device must pass. */
public abstract class DeviceKit {

  /** Computes {@code y[i] = a * x[i] + y[i]} for {@code i < n}. */
  static final String AXPY =
      """
      .version 7.4
      .target sm_80
      .address_size 64
      .visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
      {
        .reg .pred %p<2>;
        .reg .b32 %r<6>;
        .reg .b64 %rd<5>;
        .reg .f32 %f<5>;
        ld.param.u64 %rd0, [x];
        ld.param.u64 %rd1, [y];
        ld.param.f32 %f0, [a];
        ld.param.u32 %r0, [n];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mov.u32 %r3, %ntid.x;
        mad.lo.u32 %r4, %r2, %r3, %r1;
        setp.ge.u32 %p0, %r4, %r0;
        @%p0 bra DONE;
        mul.wide.u32 %rd2, %r4, 4;
        add.u64 %rd3, %rd0, %rd2;
        add.u64 %rd4, %rd1, %rd2;
        ld.global.f32 %f1, [%rd3];
        ld.global.f32 %f2, [%rd4];
        fma.rn.f32 %f3, %f0, %f1, %f2;
        st.global.f32 [%rd4], %f3;
      DONE:
        ret;
      }
      """;

  /** Reverses the ints of each block of 128 threads in dynamic shared memory. */
  private static final String REVERSE =
      """
      .version 7.4
      .target sm_80
      .address_size 64
      .extern .shared .align 16 .b8 tile[];
      .visible .entry reverse(.param .u64 data)
      .maxntid 128, 1, 1
      {
        .reg .b32 %r<9>;
        .reg .b64 %rd<4>;
        ld.param.u64 %rd0, [data];
        mov.u32 %r0, %tid.x;
        mov.u32 %r1, %ctaid.x;
        shl.b32 %r2, %r1, 7;
        add.u32 %r3, %r2, %r0;
        mul.wide.u32 %rd1, %r3, 4;
        add.u64 %rd2, %rd0, %rd1;
        ld.global.u32 %r4, [%rd2];
        mov.u32 %r5, tile;
        shl.b32 %r6, %r0, 2;
        add.u32 %r6, %r6, %r5;
        st.shared.u32 [%r6], %r4;
        bar.sync 0;
        shl.b32 %r7, %r0, 2;
        sub.u32 %r7, 508, %r7;
        add.u32 %r7, %r7, %r5;
        ld.shared.u32 %r8, [%r7];
        st.global.u32 [%rd2], %r8;
        ret;
      }
      """;

  static final Module AXPY_MODULE = Parser.parse(AXPY, "axpy.ptx");
  static final Module REVERSE_MODULE = Parser.parse(REVERSE, "reverse.ptx");

  Device device;
  Stream stream;

  /** Opens a new device for a test. */
  protected abstract Device open();

  /** Returns whether a fault leaves the process able to open the device again. */
  protected boolean survivesFaults() {
    return true;
  }

  @BeforeEach
  void openDevice() {
    device = open();
    stream = device.openStream();
  }

  @AfterEach
  void closeDevice() {
    stream.close();
    device.close();
  }

  Buffer floats(float... values) {
    var buffer = device.allocate(4L * values.length);
    stream.upload(MemorySegment.ofArray(values), buffer, 0);
    return buffer;
  }

  Buffer ints(int... values) {
    var buffer = device.allocate(4L * values.length);
    stream.upload(MemorySegment.ofArray(values), buffer, 0);
    return buffer;
  }

  float[] floatsOf(Buffer buffer) {
    var values = new float[(int) (buffer.bytes() / 4)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    stream.synchronize();
    return values;
  }

  int[] intsOf(Buffer buffer) {
    var values = new int[(int) (buffer.bytes() / 4)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    stream.synchronize();
    return values;
  }

  Launch axpy(int blocks, int threads, Argument... arguments) {
    return new Launch(
        device.load(AXPY_MODULE, "axpy"), Dim3.of(blocks), Dim3.of(threads), 0, List.of(arguments));
  }
}
