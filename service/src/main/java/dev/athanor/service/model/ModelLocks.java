package dev.athanor.service.model;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/** Locks of changes of models. A model has one of them. */
final class ModelLocks {

  private static final int LOCKS = 64;

  private final List<ReentrantLock> locks =
      Stream.generate(ReentrantLock::new).limit(LOCKS).toList();

  /** A change of the versions of a model. */
  interface Change<T> {
    T apply() throws IOException;
  }

  /** Changes the versions of a model while no other request does. */
  <T> T change(ModelId id, Change<T> change) {
    var lock = locks.get(Math.floorMod(id.hashCode(), LOCKS));
    lock.lock();
    try {
      return change.apply();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      lock.unlock();
    }
  }
}
