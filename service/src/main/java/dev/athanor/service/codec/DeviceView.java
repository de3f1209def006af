package dev.athanor.service.codec;

import java.util.List;

/**
 * A device and what it is at.
 *
 * @param target the newest code that it runs
 * @param health {@code ready}, {@code lost}, or {@code not-ready} before the self-test is passed
 *     and once the service ends
 * @param queueDepth jobs that wait for a stream
 */
public record DeviceView(
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

  /** Memory by its state, in bytes. */
  public record Memory(long used, long pooled, long free) {}

  /** All devices of the service. */
  public record Devices(List<DeviceView> devices) {}
}
