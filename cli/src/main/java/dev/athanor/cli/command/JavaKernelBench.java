package dev.athanor.cli.command;

import dev.athanor.cli.argument.JavaLaunch;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.KernelBenchReport;
import dev.athanor.cli.report.Machine;
import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.lift.KernelStream;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.Samples;
import dev.athanor.ops.bench.Stopwatch;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Times a launch of a kernel in Java. */
final class JavaKernelBench {

  private JavaKernelBench() {}

  /** The contents of a buffer before the launch. */
  private record Initial(Buffer contents, Buffer buffer) {}

  /**
   * Times the launch, which starts from the given arguments each time, and writes the outputs of
   * the last one to files.
   *
   * @throws IllegalArgumentException if the launch exceeds a limit of the device
   * @throws dev.athanor.engine.lift.CheckFailedException if a check failed
   */
  static KernelBenchReport run(JavaLaunch launch, Devices.Opened opened, Effort effort) {
    var date = Instant.now();
    var micros = time(launch, opened.device(), effort);
    long bytes =
        launch.tensors().stream().mapToLong(each -> each.initial().data().byteSize()).sum();
    return new KernelBenchReport(
        Build.current(),
        Machine.of(opened),
        date,
        effort,
        launch.kernel().name(),
        launch.grid().toString(),
        launch.block().toString(),
        launch.sharedBytes(),
        launch.checked(),
        micros,
        bytes,
        bytes / micros.median() / 1e3);
  }

  private static Samples time(JavaLaunch launch, Device device, Effort effort) {
    try (var kernelStream = KernelStream.open(device);
        var stopwatch = new Stopwatch(device, kernelStream.stream())) {
      var stream = kernelStream.stream();
      var arguments = launch.upload(device, stream);
      var given = arguments.toArray();
      var written = written(launch, arguments, device, stream);
      var kernel = launch.on(device);
      Runnable prepare =
          () -> {
            kernelStream.synchronize(); // throws if a check failed
            written.forEach(
                each -> stream.copy(each.contents, 0, each.buffer, 0, each.buffer.bytes()));
          };
      var samples =
          stopwatch.time(
              prepare, () -> kernel.launchAsync(kernelStream, launch.grid(), given), effort);
      kernelStream.synchronize();
      launch.write(arguments, stream);
      return samples;
    }
  }

  /** Copies the initial contents of the buffers that the kernel writes. */
  private static List<Initial> written(
      JavaLaunch launch, List<Object> arguments, Device device, Stream stream) {
    var parameters = launch.kernel().parameters();
    var written = new ArrayList<Initial>();
    for (int i = 0; i < arguments.size(); i++) {
      if (parameters.get(i).isWritten() && arguments.get(i) instanceof Buffer buffer) {
        var contents = device.allocate(buffer.bytes());
        stream.copy(buffer, 0, contents, 0, buffer.bytes());
        written.add(new Initial(contents, buffer));
      }
    }
    return written;
  }
}
