package com.example;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockDimY;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockIdxY;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxY;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import javax.imageio.ImageIO;

/** Draws the Mandelbrot set to the file given as first argument, or to mandelbrot.png. */
public final class Mandelbrot {
  private static final int MAX_ITERATIONS = 100;

  private Mandelbrot() {}

  @GpuKernel(blockSize = {16, 8})
  static void iterations(int[] counts, int width, int height) {
    int x = threadIdxX() + blockIdxX() * blockDimX();
    int y = threadIdxY() + blockIdxY() * blockDimY();
    if (x >= width || y >= height) {
      return;
    }
    float cr = 3f * x / width - 2.2f;
    float ci = 2.4f * y / height - 1.2f;
    float zr = 0;
    float zi = 0;
    int count = 0;
    while (count < MAX_ITERATIONS && zr * zr + zi * zi < 4) {
      float next = zr * zr - zi * zi + cr;
      zi = 2 * zr * zi + ci;
      zr = next;
      count++;
    }
    counts[y * width + x] = count;
  }

  public static void main(String[] arguments) throws IOException {
    int width = 96;
    int height = 64;
    var counts = new int[width * height];
    var inJava = new int[width * height];
    var grid = Dim3.of(Math.ceilDiv(width, 16), Math.ceilDiv(height, 8));
    var kernel = Kernels.of(Mandelbrot::iterations);
    try (var device = Devices.open("auto").device()) {
      kernel.on(device).launch(grid, counts, width, height);
      kernel.inJava().launch(grid, inJava, width, height);
      if (!Arrays.equals(counts, inJava)) {
        throw new AssertionError("the device and plain Java differ");
      }
      var file = Path.of(arguments.length == 0 ? "mandelbrot.png" : arguments[0]);
      ImageIO.write(image(counts, width, height), "png", file.toFile());
      System.out.println(
          "mandelbrot: " + file.getFileName() + " drawn on " + device.capability().name());
    }
  }

  private static BufferedImage image(int[] counts, int width, int height) {
    var image = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
    for (int i = 0; i < counts.length; i++) {
      int light = counts[i] == MAX_ITERATIONS ? 0 : 255 * counts[i] / MAX_ITERATIONS;
      image.setRGB(i % width, i / width, light << 16 | light << 8 | Math.min(255, 60 + light));
    }
    return image;
  }
}
