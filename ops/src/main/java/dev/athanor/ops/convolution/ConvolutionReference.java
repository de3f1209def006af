package dev.athanor.ops.convolution;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import java.util.Map;
import java.util.function.ToLongFunction;

/** A simple reference implementation of convolution in float64. */
final class ConvolutionReference {
  private final ConvolutionProblem problem;
  private final TensorReader x;
  private final TensorReader weight;
  private final Pixels inX;
  private final Pixels inY;
  private final Pixels taps;

  private ConvolutionReference(ConvolutionProblem problem, Map<String, HostTensor> inputs) {
    this.problem = problem;
    x = TensorReader.of(inputs, "x");
    weight = TensorReader.of(inputs, "weight");
    inX = pixels(Window::in, (long) problem.groups() * problem.channels());
    inY = pixels(Window::out, (long) problem.groups() * problem.filters());
    taps = pixels(Window::kernel, problem.transposed() ? problem.filters() : problem.channels());
  }

  private Pixels pixels(ToLongFunction<Window> extent, long channels) {
    return Pixels.of(problem.windows(), extent, channels, problem.channelsLast());
  }

  static ReferenceOutput of(ConvolutionProblem problem, Map<String, HostTensor> inputs) {
    var reference = new ConvolutionReference(problem, inputs);
    var bias = TensorReader.of(inputs, "bias", 0);
    var activation = problem.epilogue().activation();
    return ReferenceOutput.ofElements(
        problem.output().shape().elements(),
        index -> {
          long channel = reference.inY.channel(index);
          return activation.apply(
              reference.sum(reference.inY.image(index), channel, reference.inY.pixel(index))
                  + bias.applyAsDouble(channel));
        });
  }

  private double sum(long image, long output, long pixel) {
    var place = inY.place(pixel);
    long group = output / problem.filters();
    double sum = 0;
    for (long tap = 0; tap < taps.count(); tap++) {
      long from = source(place, taps.place(tap));
      if (from < 0) {
        continue;
      }
      for (int c = 0; c < problem.channels(); c++) {
        long channel = group * problem.channels() + c;
        long w =
            problem.transposed()
                ? taps.index(channel, output % problem.filters(), tap)
                : taps.index(output, c, tap);
        sum += x.get(inX.index(image, channel, from)) * weight.get(w);
      }
    }
    return sum;
  }

  /** Returns the pixel of x that a tap reads; -1 for none. */
  private long source(long[] place, long[] tap) {
    var at = new long[place.length];
    for (int i = 0; i < place.length; i++) {
      var window = problem.windows().get(i);
      if (problem.transposed()) {
        long distance = place[i] + window.before() - tap[i] * window.dilation();
        at[i] = distance % window.stride() == 0 ? distance / window.stride() : -1;
      } else {
        at[i] = window.at(place[i], tap[i]);
      }
    }
    return inX.pixel(at);
  }
}
