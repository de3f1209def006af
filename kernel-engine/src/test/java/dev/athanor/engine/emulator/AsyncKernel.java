package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;

/**
 * A test kernel with asynchronous work and parameters {@code out} and {@code in}. {@code %rd0} and
 * {@code %rd1} are their addresses; {@code %rd2} and {@code %rd3} are the addresses of the thread's
 * words; {@code %r0} is the thread, {@code %r1} the block; {@code %r2} and {@code %r3} are the
 * addresses of {@code tile}, 4096 bytes, and {@code bar}, 4 mbarriers; {@code %p0} is true in
 * thread 0.
 */
record AsyncKernel(String body, int blocks, int threads, int cluster) {

  private static final String HEAD =
      """
      .version 8.6
      .target sm_90a
      .address_size 64
      .visible .entry k(.param .u64 out, .param .u64 in) .reqnctapercluster CLUSTER, 1, 1
      {
      .shared .align 1024 .b8 tile[4096]; .shared .align 8 .b8 bar[32];
      .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
      ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];
      mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, tile; mov.u32 %r3, bar;
      mov.u32 %r4, %ntid.x; mad.lo.u32 %r4, %r1, %r4, %r0; mul.wide.u32 %rd4, %r4, 4;
      add.u64 %rd2, %rd0, %rd4; add.u64 %rd3, %rd1, %rd4; setp.eq.u32 %p0, %r0, 0;
      """;

  /** Returns a kernel of one block. */
  static AsyncKernel of(int threads, String body) {
    return new AsyncKernel(body, 1, threads, 1);
  }

  /** Waits for a phase of the first mbarrier, by parity. */
  static String await(int parity) {
    return await("$wait" + parity, "bar", parity);
  }

  static String await(String label, String barrier, int parity) {
    return "%s: mbarrier.try_wait.parity.shared::cta.b64 %%p1, [%s], %d; @!%%p1 bra %s;\n"
        .formatted(label, barrier, parity, label);
  }

  /** Initializes the first mbarrier with an arrival count and synchronizes the block. */
  static String make(int count) {
    return "@%p0 mbarrier.init.shared::cta.b64 [bar], "
        + count
        + ";\nfence.mbarrier_init.release.cluster;\nbar.sync 0;\n";
  }

  /** Initializes it and synchronizes the cluster. */
  static String makeInCluster(int count) {
    return "@%p0 mbarrier.init.shared::cta.b64 [bar], "
        + count
        + ";\nfence.mbarrier_init.release.cluster;\n"
        + "barrier.cluster.arrive; barrier.cluster.wait;\n";
  }

  static List<Way> ways() {
    var all = new ArrayList<Way>();
    for (var schedule : Schedule.values()) {
      for (var timing : AsyncTiming.values()) {
        all.add(new Way("async", schedule, timing));
      }
    }
    return TestTier.sample(all, AsyncTiming.values().length + 1);
  }

  static Way way(AsyncTiming timing) {
    return new Way("async", Schedule.CONVERGING, timing);
  }

  /**
   * Runs the kernel and returns {@code out}, which has a word per thread and at least as many words
   * as {@code in}.
   */
  int[] run(Way way, int... in) {
    return run(way, EmulatorOptions.DEFAULT.sanitize(), in);
  }

  /** Runs a kernel that the sanitizer would reject. */
  int[] runUnwatched(Way way, int... in) {
    return run(way, Sanitize.OFF, in);
  }

  /** Runs the kernel with or without the sanitizer. */
  int[] run(Way way, Sanitize sanitize, int... in) {
    var text = HEAD.replace("CLUSTER", String.valueOf(cluster)) + body + "ret;\n}\n";
    try (var rig = new SampleRig(way, text, sanitize)) {
      var out = rig.buffer(new int[Math.max(in.length, blocks * threads)]);
      rig.run("k", Dim3.of(blocks), Dim3.of(threads), 0, out, rig.buffer(in));
      return rig.ints(out);
    }
  }

  /** Returns the first report. */
  String fault() {
    return catchThrowableOfType(
            KernelFault.class, () -> run(way(AsyncTiming.LAZY), new int[Math.max(1, threads)]))
        .reports()
        .getFirst();
  }
}
