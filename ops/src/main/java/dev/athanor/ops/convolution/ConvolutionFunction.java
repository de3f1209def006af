package dev.athanor.ops.convolution;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.tile.Epilogue;

/**
 * Adds the products of a window and the weights, and applies the epilogue. The parameters are the
 * weights, the channels of x in a group, the distance between them in x, the distances between
 * groups, filters, taps and channels of the weights, and those of the epilogue.
 */
record ConvolutionFunction(Epilogue epilogue, boolean transposed) implements WindowFunction {

  @Override
  public String name() {
    return "convolution%s%s".formatted(transposed ? "_transposed" : "", epilogue.name());
  }

  @Override
  public Type type() {
    return Epilogue.type(epilogue.out());
  }

  static Arguments arguments(ConvolutionProblem problem, int channelStride) {
    int taps = problem.taps();
    int channels = problem.channels();
    int filters = problem.filters();
    boolean last = problem.channelsLast();
    int tap;
    int channel;
    int filter;
    if (problem.transposed()) {
      channel = taps * filters;
      filter = last ? 1 : taps;
      tap = last ? filters : 1;
    } else {
      filter = taps * channels;
      channel = last ? 1 : taps;
      tap = last ? channels : 1;
    }
    return problem
        .epilogue()
        .arguments(1)
        .inputs("weight")
        .with("channels", channels)
        .with("xChannel", channelStride)
        .with("weightGroup", taps * channels * filters)
        .with("weightFilter", filter)
        .with("weightTap", tap)
        .with("weightChannel", channel);
  }

  @Override
  public OfElement declare(KernelBuilder k, int rank) {
    var weight = k.input("weight", type());
    var channels = k.integer("channels");
    var xChannel = k.integer("xChannel");
    var weightGroup = k.integer("weightGroup");
    var weightFilter = k.integer("weightFilter");
    var weightTap = k.integer("weightTap");
    var weightChannel = k.integer("weightChannel");
    var applied = epilogue.declare(k);
    return element -> {
      var sum = k.variable(k.real(epilogue.sum(), 0));
      var filter = element.group().times(weightGroup).plus(element.filter().times(weightFilter));
      element
          .windows()
          .taps(
              element.place(),
              transposed,
              (tap, pixel) -> {
                var x = element.x().plus(pixel.times(element.pixelStride()).wide());
                var w = weight.plus(filter.plus(tap.times(weightTap)).wide());
                k.loop(
                    k.integer(0),
                    channels,
                    1,
                    channel ->
                        sum.addProduct(
                            x.load(channel.times(xChannel)).widen(),
                            w.load(channel.times(weightChannel)).widen()));
              });
      var one = k.integer(1);
      return applied.finish(
          sum,
          applied.row(k.integer(0), one),
          applied.column(element.channel(), element.channel().plus(1)));
    };
  }
}
