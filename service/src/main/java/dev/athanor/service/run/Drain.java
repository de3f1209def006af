package dev.athanor.service.run;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * The first step of a shutdown: readiness goes, then new work is refused, and what is under way
 * finishes. Only then does the web server stop, so that clients still learn why they are refused.
 */
public final class Drain implements SmartLifecycle {

  private static final Logger LOG = LoggerFactory.getLogger(Drain.class);

  private final StreamPool streams;
  private volatile boolean running;

  public Drain(StreamPool streams) {
    this.streams = streams;
  }

  @Override
  public void start() {
    running = true;
  }

  @Override
  public void stop() {
    LOG.info("draining: {} jobs at work, {} waiting", streams.busy(), streams.waiting());
    streams.drain();
    running = false;
  }

  /** Waits in a thread of its own, so that the phase's time limit holds. */
  @Override
  public void stop(Runnable callback) {
    Thread.startVirtualThread(() -> {
      stop();
      callback.run();
    });
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  /** What is drained is at its end and cannot be started again. */
  @Override
  public boolean isPauseable() {
    return false;
  }

  /** Before the web server, whose phases lie below. */
  @Override
  public int getPhase() {
    return DEFAULT_PHASE;
  }
}
