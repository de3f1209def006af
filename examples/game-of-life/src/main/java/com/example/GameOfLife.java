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
import java.util.Arrays;

/** Conway's game of life. A glider returns to its shape every four generations, one cell away. */
public final class GameOfLife {

  private GameOfLife() {}

  @GpuKernel(blockSize = {16, 8})
  static void generation(byte[] now, byte[] next, int width, int height) {
    int x = threadIdxX() + blockIdxX() * blockDimX();
    int y = threadIdxY() + blockIdxY() * blockDimY();
    if (x < width && y < height) {
      int neighbors = 0;
      for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
          int row = (y + dy + height) % height;
          int column = (x + dx + width) % width;
          neighbors += now[row * width + column];
        }
      }
      byte alive = now[y * width + x];
      neighbors -= alive;
      next[y * width + x] = (byte) (neighbors == 3 || (neighbors == 2 && alive == 1) ? 1 : 0);
    }
  }

  public static void main(String[] arguments) {
    int width = 24;
    int height = 20;
    var world = glider(width, height, 0);
    var next = new byte[world.length];
    var grid = Dim3.of(Math.ceilDiv(width, 16), Math.ceilDiv(height, 8));
    try (var device = Devices.open("auto").device()) {
      var kernel = Kernels.of(GameOfLife::generation).on(device);
      int generations = 8;
      for (int i = 0; i < generations; i++) {
        kernel.launch(grid, world, next, width, height);
        var swap = world;
        world = next;
        next = swap;
      }
      for (int y = 0; y < height; y++) {
        var line = new StringBuilder();
        for (int x = 0; x < width; x++) {
          line.append(world[y * width + x] == 1 ? "# " : ". ");
        }
        System.out.println(line);
      }
      if (!Arrays.equals(world, glider(width, height, generations / 4))) {
        throw new AssertionError("the glider is not where it should be");
      }
      System.out.println(
          "game-of-life: " + generations + " generations on " + device.capability().name());
    }
  }

  private static byte[] glider(int width, int height, int shift) {
    var world = new byte[width * height];
    int[][] cells = {{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};
    for (int[] cell : cells) {
      world[(cell[1] + shift) * width + cell[0] + shift] = 1;
    }
    return world;
  }
}
