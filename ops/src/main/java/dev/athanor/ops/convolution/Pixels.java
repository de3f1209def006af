package dev.athanor.ops.convolution;

import java.util.List;
import java.util.function.ToLongFunction;

/** The row-major indices of the elements of images, for references. */
record Pixels(List<Long> extents, long channels, boolean channelsLast) {

  Pixels {
    extents = List.copyOf(extents);
  }

  static Pixels of(
      List<Window> windows, ToLongFunction<Window> extent, long channels, boolean channelsLast) {
    var extents = windows.stream().mapToLong(extent).boxed().toList();
    return new Pixels(extents, channels, channelsLast);
  }

  /** Returns the number of pixels of an image. */
  long count() {
    return extents.stream().reduce(1L, (a, b) -> a * b);
  }

  /** Returns the index of an element. */
  long index(long image, long channel, long pixel) {
    return channelsLast
        ? (image * count() + pixel) * channels + channel
        : (image * channels + channel) * count() + pixel;
  }

  /** Returns the image of an element. */
  long image(long index) {
    return index / (count() * channels);
  }

  /** Returns the channel of an element. */
  long channel(long index) {
    return channelsLast ? index % channels : index / count() % channels;
  }

  /** Returns the pixel of an element. */
  long pixel(long index) {
    return channelsLast ? index / channels % count() : index % count();
  }

  /** Returns the coordinates of a pixel. */
  long[] place(long pixel) {
    var place = new long[extents.size()];
    long rest = pixel;
    for (int i = place.length - 1; i >= 0; i--) {
      place[i] = rest % extents.get(i);
      rest /= extents.get(i);
    }
    return place;
  }

  /** Returns the pixel at coordinates; -1 if they are outside of the image. */
  long pixel(long[] place) {
    long pixel = 0;
    for (int i = 0; i < place.length; i++) {
      if (place[i] < 0 || place[i] >= extents.get(i)) {
        return -1;
      }
      pixel = pixel * extents.get(i) + place[i];
    }
    return pixel;
  }
}
