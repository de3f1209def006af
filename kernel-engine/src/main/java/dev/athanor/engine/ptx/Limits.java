package dev.athanor.engine.ptx;

import java.util.List;

/**
 * The launch bounds of a kernel (PTX ISA 11.4). An empty list and 0 mean that it states none.
 *
 * @param mostThreads the greatest block ({@code .maxntid}), three numbers
 * @param threads the only block ({@code .reqntid}), three numbers
 * @param minBlocks how many blocks should at least fit on a multiprocessor ({@code .minnctapersm})
 * @param maxRegisters the most registers of a thread ({@code .maxnreg})
 * @param cluster the only cluster ({@code .reqnctapercluster}), three numbers
 * @param explicitCluster whether launches have to name a cluster
 * @param maxClusterRank the most blocks of a cluster
 */
public record Limits(
    List<Integer> mostThreads,
    List<Integer> threads,
    int minBlocks,
    int maxRegisters,
    List<Integer> cluster,
    boolean explicitCluster,
    int maxClusterRank) {

  public static final Limits NONE = new Limits(List.of(), List.of(), 0, 0, List.of(), false, 0);

  /** Of a kernel that says nothing of clusters. */
  public Limits(List<Integer> mostThreads, List<Integer> threads, int minBlocks, int maxRegisters) {
    this(mostThreads, threads, minBlocks, maxRegisters, List.of(), false, 0);
  }

  public Limits {
    mostThreads = List.copyOf(mostThreads);
    threads = List.copyOf(threads);
    cluster = List.copyOf(cluster);
  }

  /** The greatest number of threads of a block; 0 = not said. */
  public int maxThreads() {
    var block = threads.isEmpty() ? mostThreads : threads;
    long product = block.stream().mapToLong(Integer::longValue).reduce(1, Limits::times);
    return block.isEmpty() ? 0 : (int) product;
  }

  /** A product, the greatest {@code int} where it is greater. */
  public static long times(long a, long b) {
    return Math.min(Integer.MAX_VALUE, a * b);
  }

  public Limits withMostThreads(List<Integer> value) {
    return new Limits(
        value, threads, minBlocks, maxRegisters, cluster, explicitCluster, maxClusterRank);
  }

  public Limits withThreads(List<Integer> value) {
    return new Limits(
        mostThreads, value, minBlocks, maxRegisters, cluster, explicitCluster, maxClusterRank);
  }

  public Limits withMinBlocks(int value) {
    return new Limits(
        mostThreads, threads, value, maxRegisters, cluster, explicitCluster, maxClusterRank);
  }

  public Limits withMaxRegisters(int value) {
    return new Limits(
        mostThreads, threads, minBlocks, value, cluster, explicitCluster, maxClusterRank);
  }

  public Limits withCluster(List<Integer> value) {
    return new Limits(
        mostThreads, threads, minBlocks, maxRegisters, value, explicitCluster, maxClusterRank);
  }

  public Limits withExplicitCluster() {
    return new Limits(mostThreads, threads, minBlocks, maxRegisters, cluster, true, maxClusterRank);
  }

  public Limits withMaxClusterRank(int value) {
    return new Limits(
        mostThreads, threads, minBlocks, maxRegisters, cluster, explicitCluster, value);
  }
}
