package dev.athanor.cli.report;

import dev.athanor.client.TensorInfo;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reports the tensors of a service. */
public final class TensorTable {

  /**
   * A tensor in JSON.
   *
   * @param expiresAt the end of the lease; null for none
   */
  private record Row(
      String handle,
      @Nullable String name,
      String dtype,
      List<Long> shape,
      long bytes,
      String device,
      @Nullable Instant expiresAt) {
    static Row of(TensorInfo tensor) {
      return new Row(
          tensor.handle(),
          tensor.name().orElse(null),
          tensor.dtype().text(),
          tensor.shape(),
          tensor.bytes(),
          tensor.device(),
          tensor.expiresAt().orElse(null));
    }
  }

  private TensorTable() {}

  /** Returns the tensors as a table. */
  public static List<String> lines(List<TensorInfo> tensors) {
    var table = new Table("handle", "name", "dtype", "shape", "bytes", "device", "lease ends");
    for (var tensor : tensors) {
      table.add(
          tensor.handle(),
          tensor.name().orElse(""),
          tensor.dtype().text(),
          tensor.shape().stream().map(String::valueOf).collect(Collectors.joining(",", "[", "]")),
          Long.toString(tensor.bytes()),
          tensor.device(),
          tensor
              .expiresAt()
              .map(end -> end.truncatedTo(ChronoUnit.SECONDS).toString())
              .orElse("never"));
    }
    return table.text();
  }

  /** Returns the tensors as JSON. */
  public static String json(List<TensorInfo> tensors) {
    return ResultFile.json(tensors.stream().map(Row::of).toList());
  }
}
