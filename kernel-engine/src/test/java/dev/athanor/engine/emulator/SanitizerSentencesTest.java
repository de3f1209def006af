package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Reports name both instructions and threads, the bytes, and the remedy. */
class SanitizerSentencesTest {

  private final Rig rig =
      new Rig(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL).withWorkers(1));
  private Buffer out;
  private Buffer in;

  @BeforeEach
  void allocate() {
    out = rig.ints(new int[128]);
    in = rig.ints(new int[128]);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private List<String> reports(int blocks, int threads, String body) {
    var fault =
        catchThrowableOfType(
            KernelFault.class, () -> rig.run(body, Dim3.of(blocks), Dim3.of(threads), out, in, 1));
    assertThat(fault).as("a fault").isNotNull();
    return fault.reports();
  }

  /** Returns the position of a line of the body, counted from 0. */
  private static String at(int line) {
    return "test.ptx:%d:1".formatted(Rig.FIRST_LINE + line);
  }

  @Test
  void raceInABlock() {
    var body =
        """
        shl.b32 %r5, %r0, 2; mov.u32 %r6, tile; add.u32 %r5, %r6, %r5;
        st.shared.u32 [%r5], %r0;
        setp.ne.u32 %p0, %r0, 37;
        @%p0 bra DONE;
        ld.shared.u32 %r7, [tile+12];
        DONE:
        """;
    assertThat(reports(1, 64, body))
        .containsExactly(
            "thread (37,0,0) of block (0,0,0) of kernel test, \"ld.shared.u32 %r7, [tile+12]\" at "
                + at(4)
                + ": lane 5 of warp 1 reads bytes 12..15 of tile, which lane 3 of warp 0, thread"
                + " (3,0,0) of the same block, \"st.shared.u32 [%r5], %r0\" at "
                + at(1)
                + ", writes, and nothing orders the two; a barrier of the block between the two"
                + " would order them");
  }

  @Test
  void raceInAWarp() {
    var body =
        """
        shl.b32 %r5, %r0, 2; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5;
        st.shared.u32 [%r6], %r0;
        xor.b32 %r6, %r6, 4;
        ld.shared.u32 %r7, [%r6];
        """;
    assertThat(reports(1, 32, body))
        .containsExactly(
            "thread (0,0,0) of block (0,0,0) of kernel test, \"ld.shared.u32 %r7, [%r6]\" at "
                + at(3)
                + ": lane 0 of warp 0 reads bytes 4..7 of tile, which lane 1 of warp 0, thread"
                + " (1,0,0) of the same block, \"st.shared.u32 [%r6], %r0\" at "
                + at(1)
                + ", writes, and nothing orders the two; bar.warp.sync between the two would order"
                + " them (32 times)");
  }

  @Test
  void raceInAGrid() {
    assertThat(reports(2, 1, "st.global.u32 [%rd0+8], %r1;\n"))
        .containsExactly(
            ("thread (0,0,0) of block (1,0,0) of kernel test, \"st.global.u32 [%%rd0+8], %%r1\" at"
                    + " %s: lane 0 of warp 0 writes bytes 8..11 of a buffer of 512 bytes at 0x%x,"
                    + " which lane 0 of warp 0, thread (0,0,0) of block (0,0,0), \"st.global.u32"
                    + " [%%rd0+8], %%r1\" at %s, writes, and nothing orders the two; atomic"
                    + " instructions, or a release after the one and an acquire before the other at"
                    + " .gpu scope, would order them")
                .formatted(at(0), out.address(), at(0)));
  }

  @Test
  void missingWaitForACopy() {
    var body =
        """
        mov.u32 %r5, tile;
        cp.async.ca.shared.global [%r5], [%rd1], 8;
        cp.async.commit_group;
        ld.shared.u32 %r7, [%r5+4];
        cp.async.wait_group 0;
        """;
    assertThat(reports(1, 1, body))
        .containsExactly(
            "thread (0,0,0) of block (0,0,0) of kernel test, \"ld.shared.u32 %r7, [%r5+4]\" at "
                + at(3)
                + ": lane 0 of warp 0 reads bytes 4..7 of tile, which lane 0 of warp 0, thread"
                + " (0,0,0) of the same block, \"cp.async.ca.shared.global [%r5], [%rd1], 8\" at "
                + at(1)
                + ", copies to asynchronously, and no thread has waited for the copy;"
                + " cp.async.wait_group before this instruction would order them");
  }

  @Test
  void copyPendingAtExit() {
    var body = "mov.u32 %r5, tile;\ncp.async.ca.shared.global [%r5], [%rd1], 8;\n";
    assertThat(reports(1, 1, body))
        .containsExactly(
            "thread (0,0,0) of block (0,0,0) of kernel test, \"cp.async.ca.shared.global [%r5],"
                + " [%rd1], 8\" at "
                + at(1)
                + ": lane 0 of warp 0 issues a copy that the thread has not waited for when it exits"
                + " at "
                + at(2)
                + "; wait with cp.async.wait_all before the exit");
  }

  @Test
  void uninitializedRead() {
    var body =
        """
        mov.u16 %rs0, 7;
        st.shared.u16 [tile+6], %rs0;
        ld.shared.u32 %r5, [tile+4];
        """;
    assertThat(reports(1, 1, body))
        .containsExactly(
            "thread (0,0,0) of block (0,0,0) of kernel test, \"ld.shared.u32 %r5, [tile+4]\" at "
                + at(2)
                + ": lane 0 of warp 0 reads bytes 4..7 of tile, of which 2 were never written;"
                + " store, upload or fill them first");
  }

  @Test
  void accessBeyondAVariable() {
    var body =
        """
        .shared .align 16 .b8 next[64];
        mov.u32 %r5, tile;
        st.shared.u32 [%r5+4104], %r5;
        st.shared.u32 [next], %r5;
        """;
    assertThat(reports(1, 1, body))
        .containsExactly(
            "thread (0,0,0) of block (0,0,0) of kernel test, \"st.shared.u32 [%r5+4104], %r5\" at "
                + at(2)
                + ": lane 0 of warp 0 writes bytes 8..11 of next, through an address of tile that points to"
                + " its bytes 4104..4107 of 4096; keep the index within tile");
  }

  @Test
  void collidingLanes() {
    assertThat(reports(1, 2, "st.shared.u32 [tile], %r0;\n"))
        .containsExactly(
            "thread (1,0,0) of block (0,0,0) of kernel test, \"st.shared.u32 [tile], %r0\" at "
                + at(0)
                + ": lane 1 of warp 0 writes bytes 0..3 of tile, which lane 0 of warp 0, thread"
                + " (0,0,0) of the same block, \"st.shared.u32 [tile], %r0\" at "
                + at(0)
                + ", writes with another value at the same time; let one lane write, or use an"
                + " atomic instruction");
  }
}
