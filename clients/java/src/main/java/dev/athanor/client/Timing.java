package dev.athanor.client;

import java.time.Duration;
import java.util.HashMap;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The phases of a run as measured by the service.
 *
 * @param prepare planning the operation, and compiling and loading kernels
 * @param queue waiting for tensors and a stream
 * @param upload copying values to the device
 * @param kernel running the kernels
 * @param download copying values from the device
 * @param total the time from the arrival of the call to its end
 */
public record Timing(
    Duration prepare,
    Duration queue,
    Duration upload,
    Duration kernel,
    Duration download,
    Duration total) {

  private static final Pattern PHASE = Pattern.compile("([a-z]+);dur=([0-9.]+)");

  /** Parses the header {@code Server-Timing}, which is in milliseconds. */
  static Optional<Timing> ofHeader(Optional<String> header) {
    return header.map(text -> {
      var phases = new HashMap<String, Duration>();
      var found = PHASE.matcher(text);
      while (found.find()) {
        phases.put(found.group(1), micros(Double.parseDouble(found.group(2)) * 1e3));
      }
      return new Timing(
          phases.getOrDefault("prepare", Duration.ZERO),
          phases.getOrDefault("queue", Duration.ZERO),
          phases.getOrDefault("upload", Duration.ZERO),
          phases.getOrDefault("kernel", Duration.ZERO),
          phases.getOrDefault("download", Duration.ZERO),
          phases.getOrDefault("total", Duration.ZERO));
    });
  }

  static Duration micros(double micros) {
    return Duration.ofNanos(Math.round(micros * 1e3));
  }
}
