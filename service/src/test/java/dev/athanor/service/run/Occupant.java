package dev.athanor.service.run;

import dev.athanor.engine.device.Stream;
import dev.athanor.service.stream.Job;
import java.util.concurrent.CountDownLatch;

/** A job that occupies the only stream until {@link #end} is released. */
public final class Occupant implements Job {
  public final CountDownLatch begun = new CountDownLatch(1);
  public final CountDownLatch end = new CountDownLatch(1);

  @Override
  public int device() {
    return 0;
  }

  @Override
  public Object kind() {
    return "occupant";
  }

  @Override
  public long cost() {
    return 1;
  }

  @Override
  public long hostBytes() {
    return 0;
  }

  @Override
  public void run(Stream stream) {
    begun.countDown();
    try {
      end.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {}
}
