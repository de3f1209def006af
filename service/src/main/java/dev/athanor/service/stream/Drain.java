package dev.athanor.service.stream;

import dev.athanor.service.device.RunSettings;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * The first step of a shutdown: readiness goes, then new work is refused, and what is under way
 * finishes. Only then, and not before the notice is over, does the web server stop, so that clients
 * still learn why they are refused.
 */
public final class Drain implements SmartLifecycle {

  private static final Logger LOG = LoggerFactory.getLogger(Drain.class);

  private final StreamPool streams;
  private final Duration toClosing;
  private volatile boolean running;

  public Drain(StreamPool streams, RunSettings settings) {
    this.streams = streams;
    toClosing = settings.drainDelay().plus(settings.drainLinger());
  }

  @Override
  public void start() {
    running = true;
  }

  @Override
  public void stop() {
    LOG.info("draining: {} jobs at work, {} waiting", streams.busy(), streams.waiting());
    long began = System.nanoTime();
    streams.drain();
    try {
      Thread.sleep(toClosing.minusNanos(System.nanoTime() - began));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
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
