package dev.athanor.service.stream;

import dev.athanor.service.device.RunSettings;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * The first phase of a shutdown. The service reports that it is not ready, then rejects new work,
 * and finishes accepted work. The web server stops afterwards, and not before the drain delay and
 * linger time have passed, so that clients still receive the error {@code draining}.
 */
public final class Drain implements SmartLifecycle {

  private static final Logger LOG = LoggerFactory.getLogger(Drain.class);

  private final StreamPool streams;
  private final Duration minimumDuration;
  private volatile boolean running;

  public Drain(StreamPool streams, RunSettings settings) {
    this.streams = streams;
    minimumDuration = settings.drainDelay().plus(settings.drainLinger());
  }

  @Override
  public void start() {
    running = true;
  }

  @Override
  public void stop() {
    LOG.info("Draining: {} running jobs, {} waiting jobs", streams.busy(), streams.waiting());
    long began = System.nanoTime();
    streams.drain();
    try {
      Thread.sleep(minimumDuration.minusNanos(System.nanoTime() - began));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    running = false;
  }

  /** Waits in a separate thread, so that the timeout of the lifecycle phase applies. */
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

  /** Returns false, since draining cannot be undone. */
  @Override
  public boolean isPauseable() {
    return false;
  }

  /** Returns the highest phase, which stops before the web server. */
  @Override
  public int getPhase() {
    return DEFAULT_PHASE;
  }
}
