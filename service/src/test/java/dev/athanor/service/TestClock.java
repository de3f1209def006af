package dev.athanor.service;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** A clock that tests advance. */
public final class TestClock extends Clock {

  private volatile Instant now = Instant.parse("2026-01-01T00:00:00Z");

  public synchronized void advance(Duration by) {
    now = now.plus(by);
  }

  @Override
  public Instant instant() {
    return now;
  }

  @Override
  public ZoneId getZone() {
    return ZoneOffset.UTC;
  }

  @Override
  public Clock withZone(ZoneId zone) {
    return InstantSource.system().withZone(zone);
  }
}
