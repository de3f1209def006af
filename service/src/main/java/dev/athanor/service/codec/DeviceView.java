package dev.athanor.service.codec;

import java.util.List;

/**
 * The JSON view of a device and its load.
 *
 * @param target the newest PTX target that it supports
 * @param health {@code ready}, {@code lost}, or {@code not-ready} before the self-test passes and
 *     during shutdown
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

  /** Memory by state, in bytes. */
  public record Memory(long used, long pooled, long free) {}

  /** All devices of the service. */
  public record Devices(List<DeviceView> devices) {}
}
