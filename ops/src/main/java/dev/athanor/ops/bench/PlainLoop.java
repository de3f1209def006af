package dev.athanor.ops.bench;

import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DType;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Problem;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A matrix product as three loops in Java, on one core of the host. It tells how fast the emulator
 * is, whatever the machine: the two are timed in alternation.
 */
final class PlainLoop implements Baseline.Enqueued {

  @Override
  public String library() {
    return "loop";
  }

  @Override
  public String name() {
    return "Java loop";
  }

  @Override
  public boolean computes(Problem problem) {
    return Baseline.isPlainProduct(problem)
        && Objects.requireNonNull(problem.inputs().get("a")).dtype() == DType.F32
        && !problem.attributes().flag("transposeA")
        && !problem.attributes().flag("transposeB");
  }

  @Override
  public void enqueue(Stream stream, Problem problem, Bindings bindings) {
    var c = bindings.output("c");
    int m = Math.toIntExact(c.type().shape().extent(0));
    int n = Math.toIntExact(c.type().shape().extent(1));
    var product =
        product(download(stream, bindings.input("a")), download(stream, bindings.input("b")), m, n);
    stream.upload(MemorySegment.ofArray(product), c.buffer(), c.offset());
    stream.synchronize();
  }

  private static float[] download(Stream stream, DeviceTensor tensor) {
    var elements = new float[Math.toIntExact(tensor.type().shape().elements())];
    stream.download(tensor.buffer(), tensor.offset(), MemorySegment.ofArray(elements));
    stream.synchronize();
    return elements;
  }

  /** Returns the product of row-major matrices; the innermost loop runs along rows. */
  private static float[] product(float[] a, float[] b, int m, int n) {
    int depth = a.length / m;
    var c = new float[m * n];
    for (int row = 0; row < m; row++) {
      for (int k = 0; k < depth; k++) {
        add(c, row * n, a[row * depth + k], b, k * n, n);
      }
    }
    return c;
  }

  private static void add(float[] sums, int to, float factor, float[] row, int from, int n) {
    for (int i = 0; i < n; i++) {
      sums[to + i] += factor * row[from + i];
    }
  }

  @Override
  public void close() {
    // nothing is open
  }
}
