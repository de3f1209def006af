package dev.athanor.ops.convolution;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** What a {@link WindowVariant} computes from the window of an element. */
interface WindowFunction {

  /** Returns a name such as {@code convolution_f32_bias_relu}. */
  String name();

  /** Returns the type of x and y. */
  Type type();

  /**
   * Declares the parameters of the function.
   *
   * @param rank number of spatial dimensions
   * @return adds the code that computes an element
   */
  OfElement declare(KernelBuilder k, int rank);

  /** The function in a kernel. */
  @FunctionalInterface
  interface OfElement {
    Value of(Element element);
  }

  /**
   * An element of y.
   *
   * @param index its index in y
   * @param group index of its group of channels
   * @param filter index of its channel within the group
   * @param channel index of its channel
   * @param place its coordinates, outermost first
   * @param x the first channel of the group in the image
   * @param pixelStride distance between pixels of x in elements
   * @param windows the windows of the kernel
   */
  record Element(
      Int index,
      Int group,
      Int filter,
      Int channel,
      List<Int> place,
      GlobalPointer x,
      Int pixelStride,
      WindowParameters windows) {}
}
