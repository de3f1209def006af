package dev.athanor.engine.ptx;

import java.util.List;

/**
 * The launch bounds of a kernel (PTX ISA 11.4). An empty list or 0 means not declared.
 *
 * @param maxBlockShape maximum block extents ({@code .maxntid}), three numbers
 * @param requiredBlockShape required block extents ({@code .reqntid}), three numbers
 * @param minBlocks minimum number of resident blocks per multiprocessor ({@code .minnctapersm})
 * @param maxRegisters maximum number of registers per thread ({@code .maxnreg})
 * @param clusterShape required cluster extents ({@code .reqnctapercluster}), three numbers
 * @param explicitCluster whether launches must specify a cluster
 * @param maxClusterRank maximum number of blocks per cluster
 */
public record LaunchBounds(
    List<Integer> maxBlockShape,
    List<Integer> requiredBlockShape,
    int minBlocks,
    int maxRegisters,
    List<Integer> clusterShape,
    boolean explicitCluster,
    int maxClusterRank) {
  public static final LaunchBounds NONE =
      new LaunchBounds(List.of(), List.of(), 0, 0, List.of(), false, 0);

  /** Creates launch bounds without cluster directives. */
  public LaunchBounds(
      List<Integer> mostThreads, List<Integer> threads, int minBlocks, int maxRegisters) {
    this(mostThreads, threads, minBlocks, maxRegisters, List.of(), false, 0);
  }

  public LaunchBounds {
    maxBlockShape = List.copyOf(maxBlockShape);
    requiredBlockShape = List.copyOf(requiredBlockShape);
    clusterShape = List.copyOf(clusterShape);
  }

  /** Returns the maximum number of threads per block; 0 if not declared. */
  public int maxThreads() {
    var block = requiredBlockShape.isEmpty() ? maxBlockShape : requiredBlockShape;
    long product = block.isEmpty() ? 0 : 1;
    for (int extent : block) {
      product = saturatedProduct(product, extent);
    }
    return (int) product;
  }

  /** Returns a product, saturated to an {@code int}. */
  public static long saturatedProduct(long a, long b) {
    return Math.min(Integer.MAX_VALUE, a * b);
  }

  public LaunchBounds withMaxBlockShape(List<Integer> value) {
    return new LaunchBounds(
        value,
        requiredBlockShape,
        minBlocks,
        maxRegisters,
        clusterShape,
        explicitCluster,
        maxClusterRank);
  }

  public LaunchBounds withRequiredBlockShape(List<Integer> value) {
    return new LaunchBounds(
        maxBlockShape,
        value,
        minBlocks,
        maxRegisters,
        clusterShape,
        explicitCluster,
        maxClusterRank);
  }

  public LaunchBounds withMinBlocks(int value) {
    return new LaunchBounds(
        maxBlockShape,
        requiredBlockShape,
        value,
        maxRegisters,
        clusterShape,
        explicitCluster,
        maxClusterRank);
  }

  public LaunchBounds withMaxRegisters(int value) {
    return new LaunchBounds(
        maxBlockShape,
        requiredBlockShape,
        minBlocks,
        value,
        clusterShape,
        explicitCluster,
        maxClusterRank);
  }

  public LaunchBounds withClusterShape(List<Integer> value) {
    return new LaunchBounds(
        maxBlockShape,
        requiredBlockShape,
        minBlocks,
        maxRegisters,
        value,
        explicitCluster,
        maxClusterRank);
  }

  public LaunchBounds withExplicitCluster() {
    return new LaunchBounds(
        maxBlockShape,
        requiredBlockShape,
        minBlocks,
        maxRegisters,
        clusterShape,
        true,
        maxClusterRank);
  }

  public LaunchBounds withMaxClusterRank(int value) {
    return new LaunchBounds(
        maxBlockShape,
        requiredBlockShape,
        minBlocks,
        maxRegisters,
        clusterShape,
        explicitCluster,
        value);
  }
}
