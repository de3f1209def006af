package dev.athanor.client;

/**
 * The state of a device of the service.
 *
 * @param id the ID, such as {@code cuda:0}
 * @param target the newest supported target, such as {@code sm_90a}
 * @param driver the version of the driver or the emulator
 * @param health {@code ready}, {@code not-ready} or {@code lost}
 * @param queueDepth the number of jobs that wait for a stream
 * @param streamsBusy the number of streams that run a job
 */
public record DeviceInfo(
    String id,
    String name,
    String target,
    String driver,
    int multiprocessors,
    String health,
    Memory memory,
    int queueDepth,
    int streams,
    int streamsBusy) {

  /**
   * Device memory in bytes.
   *
   * @param pooled kept for later allocations
   */
  public record Memory(long used, long pooled, long free) {}
}
