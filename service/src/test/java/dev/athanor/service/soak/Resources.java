package dev.athanor.service.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What a service holds.
 *
 * @param heap bytes that live objects take, after a collection
 * @param direct bytes of buffers outside of the heap
 * @param inline bytes of the host that requests have for their tensors
 * @param tensors how many are resident
 * @param tensorBytes what these take
 * @param device bytes of the device that are in use
 * @param files open descriptors, sockets among them
 * @param mappings ranges of mapped memory
 * @param resident bytes of the process in memory, which no collection gives back
 */
record Resources(
    long heap,
    long direct,
    long inline,
    long tensors,
    long tensorBytes,
    long device,
    long files,
    long threads,
    long mappings,
    long resident) {

  /**
   * Reads them, after a collection.
   *
   * @param process the service's
   * @param page its metrics
   */
  static Resources of(Process process, Page page) throws IOException, InterruptedException {
    collect(process.pid());
    var metrics = page.lines();
    var proc = Path.of("/proc", Long.toString(process.pid()));
    try (var files = Files.list(proc.resolve("fd"));
        var mappings = Files.lines(proc.resolve("maps"))) {
      return new Resources(
          sum(metrics, "jvm_memory_used_bytes{", "area=\"heap\""),
          sum(metrics, "jvm_buffer_memory_used_bytes{", "id=\"direct\""),
          sum(metrics, "athanor_inline_bytes{", ""),
          sum(metrics, "athanor_tensors{", ""),
          sum(metrics, "athanor_tensor_bytes{", ""),
          sum(metrics, "athanor_device_memory_bytes{", "state=\"used\""),
          files.count(),
          status(proc, "Threads"),
          mappings.count(),
          status(proc, "VmRSS") * 1024);
    }
  }

  /** The lines of the page of metrics. */
  interface Page {
    List<String> lines() throws IOException, InterruptedException;
  }

  private static void collect(long pid) throws IOException, InterruptedException {
    var jcmd =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                Long.toString(pid),
                "GC.run")
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    if (!jcmd.waitFor(60, TimeUnit.SECONDS) || jcmd.exitValue() != 0) {
      jcmd.destroyForcibly();
      throw new IOException("jcmd could not have process %d collect".formatted(pid));
    }
  }

  private static long sum(List<String> metrics, String name, String label) {
    var found =
        metrics.stream().filter(line -> line.startsWith(name) && line.contains(label)).toList();
    if (found.isEmpty()) {
      throw new AssertionError("there is no metric " + name + label);
    }
    return found.stream()
        .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  private static long status(Path proc, String key) throws IOException {
    try (var lines = Files.lines(proc.resolve("status"))) {
      return lines
          .filter(line -> line.startsWith(key + ":"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .findFirst()
          .orElseThrow();
    }
  }

  /**
   * Whether nothing has stayed that was not there before: no tensor, no byte of the device and none
   * of a request, and of all else no more than what threads, caches and compilers come and go with.
   */
  boolean isNear(Resources before) {
    return inline == before.inline
        && tensors == before.tensors
        && tensorBytes == before.tensorBytes
        && device == before.device
        && heap <= before.heap + (16L << 20)
        && direct <= before.direct + (24L << 20) // 128 KiB of each connection, kept for the next
        && files <= before.files + 8
        && threads <= before.threads + 16
        && mappings <= before.mappings + 200;
  }

  /** The columns of {@link #row}. */
  static String columns() {
    return "heap MiB | direct MiB | tensors | device MiB | descriptors | threads | mappings"
        + " | resident MiB";
  }

  String row() {
    return "%.1f | %.1f | %d | %.2f | %d | %d | %d | %d"
        .formatted(
            heap / 1048576.0,
            direct / 1048576.0,
            tensors,
            device / 1048576.0,
            files,
            threads,
            mappings,
            resident >> 20);
  }
}
