package dev.athanor.service.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The resources of a service process.
 *
 * @param heap bytes of live objects after a garbage collection
 * @param direct bytes of direct buffers
 * @param inline host bytes of inline tensors of requests
 * @param tensors number of resident tensors
 * @param tensorBytes bytes of resident tensors
 * @param device used bytes of device memory
 * @param files open file descriptors, including sockets
 * @param mappings number of memory mappings
 * @param resident resident set size of the process, in bytes
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
   * Measures the resources after a garbage collection.
   *
   * @param process the process of the service
   * @param page the metrics of the service
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

  /** Reads the metrics as lines. */
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
    if (jcmd.waitFor() != 0) {
      jcmd.destroyForcibly();
      throw new IOException("jcmd could not run a garbage collection in process %d".formatted(pid));
    }
  }

  private static long sum(List<String> metrics, String name, String label) {
    var found =
        metrics.stream().filter(line -> line.startsWith(name) && line.contains(label)).toList();
    if (found.isEmpty()) {
      throw new AssertionError("no metric " + name + label);
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
   * Returns whether nothing has leaked: tensors, device memory and request memory must be equal;
   * other resources may vary slightly because of threads, caches and compilers.
   */
  boolean isNear(Resources before) {
    return inline == before.inline
        && tensors == before.tensors
        && tensorBytes == before.tensorBytes
        && device == before.device
        && heap <= before.heap + (16L << 20)
        && direct <= before.direct + (24L << 20) // pooled buffers, 128 KiB per connection
        && files <= before.files + 8
        && threads <= before.threads + 16
        && mappings <= before.mappings + 200;
  }

  /** Returns the headings of the columns of {@link #row}. */
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
