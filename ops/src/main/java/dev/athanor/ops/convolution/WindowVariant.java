package dev.athanor.ops.convolution;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step;
import dev.athanor.ops.Variant;
import dev.athanor.ops.convolution.WindowFunction.Element;
import java.util.List;

/**
 * Computes each element of y in a thread, which reads its window of x from global memory. Threads
 * are in the order of the elements. The parameters are x, y, the number of elements, the channels
 * of y in a group and in all groups, the pixels of an image of y, the distances between pixels and
 * between channels of y and between pixels, groups of channels and images of x; then those of
 * {@link WindowParameters} and of the function.
 *
 * @param rank number of spatial dimensions
 */
record WindowVariant(WindowFunction function, int rank) implements Variant {

  static final int THREADS = 128;

  /**
   * The layout of a launch.
   *
   * @param filters channels of y in a group
   * @param channels channels of x in a group
   */
  record Layout(
      int images, int groups, int filters, int channels, List<Window> windows, boolean last) {

    long pixelsIn() {
      return Window.product(windows, Window::in);
    }

    long pixelsOut() {
      return Window.product(windows, Window::out);
    }

    long elements() {
      return images * (long) groups * filters * pixelsOut();
    }

    /** Returns the distance between the pixels of an image of x. */
    int pixelStride() {
      return last ? groups * channels : 1;
    }

    /** Returns the distance between the channels of x. */
    int channelStride() {
      return last ? 1 : (int) pixelsIn();
    }
  }

  @Override
  public String name() {
    return "%s_%dd".formatted(function.name(), rank);
  }

  /** Returns the launch, with the arguments of the function. */
  Step step(Layout layout, Arguments ofFunction) {
    int outputs = layout.groups * layout.filters;
    int pixels = (int) layout.pixelsOut();
    var arguments =
        ofFunction
            .with(Arguments.ofInputs("x").outputs("y"))
            .with("count", (int) layout.elements())
            .with("filters", layout.filters)
            .with("outputs", outputs)
            .with("pixels", pixels)
            .with("yPixel", layout.last ? outputs : 1)
            .with("yChannel", layout.last ? 1 : pixels)
            .with("xPixel", layout.pixelStride())
            .with("xGroup", layout.channels * layout.channelStride())
            .with("xImage", (long) layout.groups * layout.channels * layout.pixelsIn())
            .with(WindowParameters.arguments(layout.windows));
    var grid = Dim3.of((int) Math.ceilDiv(layout.elements(), THREADS));
    return new Step(this, grid, THREADS, 0, arguments);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var x = k.input("x", function.type());
    var y = k.pointer("y", function.type());
    var count = k.integer("count");
    var filters = k.integer("filters");
    var outputs = k.integer("outputs");
    var pixels = k.integer("pixels");
    var yPixel = k.integer("yPixel");
    var yChannel = k.integer("yChannel");
    var xPixel = k.integer("xPixel");
    var xGroup = k.integer("xGroup");
    var xImage = k.wide("xImage");
    var windows = WindowParameters.declare(k, rank);
    var ofElement = function.declare(k, rank);
    var index = k.block().times(THREADS).plus(k.thread());
    k.when(
        index.lt(count),
        () -> {
          var channel = index.div(yChannel).rem(outputs);
          var group = channel.div(filters);
          var element =
              new Element(
                  index,
                  group,
                  channel.minus(group.times(filters)),
                  channel,
                  windows.place(index.div(yPixel).rem(pixels)),
                  x.matrix(index.div(outputs.times(pixels)), xImage)
                      .plus(group.times(xGroup).wide()),
                  xPixel,
                  windows);
          y.store(index, ofElement.of(element));
        });
  }
}
