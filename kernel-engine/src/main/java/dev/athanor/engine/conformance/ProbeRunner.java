package dev.athanor.engine.conformance;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Runs probes on a device. */
record ProbeRunner(Device device) {

  /**
   * Returns the results of all threads, contiguous per thread.
   *
   * @param sources sources in the same order
   */
  long[] run(Probe probe, LoadedKernel kernel, int threads, long[] sources) {
    long inBytes = Math.max(Probe.WORD, (long) sources.length * Probe.WORD);
    long outBytes = (long) threads * probe.results().size() * Probe.WORD;
    try (var arena = Arena.ofConfined();
        var stream = device.openStream();
        var in = device.allocate(inBytes);
        var out = device.allocate(outBytes)) {
      var host = arena.allocate(inBytes, Probe.WORD);
      MemorySegment.copy(sources, 0, host, ValueLayout.JAVA_LONG, 0, sources.length);
      var results = arena.allocate(outBytes, Probe.WORD);
      stream.upload(host, in, 0);
      stream.fill(out, 0, outBytes, (byte) 0);
      stream.launch(
          new Launch(
              kernel,
              Dim3.of(threads / Probe.BLOCK),
              Dim3.of(Probe.BLOCK),
              0,
              List.of(Argument.of(in), Argument.of(out))));
      stream.download(out, 0, results);
      stream.synchronize();
      return results.toArray(ValueLayout.JAVA_LONG);
    }
  }
}
