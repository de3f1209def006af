package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class LruCacheTest {

  private final AtomicInteger made = new AtomicInteger();

  private String make(int key) {
    made.incrementAndGet();
    return "value " + key;
  }

  @Test
  void evictsTheLeastRecentlyUsedValue() {
    var cache = new LruCache<Integer, String>(3);
    for (int key = 0; key < 3; key++) {
      cache.get(key, this::make);
    }
    assertThat(cache.get(0, this::make)).isEqualTo("value 0");
    assertThat(made).hasValue(3);
    cache.get(3, this::make);
    assertThat(cache.values()).containsExactlyInAnyOrder("value 0", "value 2", "value 3");
    assertThat(cache.find(1)).isNull();
    assertThat(cache.find(2)).isEqualTo("value 2");
    cache.get(4, this::make); // find counts as a use
    assertThat(cache.values()).containsExactlyInAnyOrder("value 2", "value 3", "value 4");
    assertThat(cache.get(1, this::make)).isEqualTo("value 1");
    assertThat(made).hasValue(6);
    cache.clear();
    assertThat(cache.values()).isEmpty();
  }

  @Test
  void neverExceedsItsLimit() {
    var cache = new LruCache<Integer, String>(10);
    for (int i = 0; i < 1000; i++) {
      cache.get(i * 7 % 100, this::make);
      assertThat(cache.values()).hasSizeLessThanOrEqualTo(10);
    }
  }

  @Test
  void keepsPinnedValues() {
    var cache = new LruCache<Integer, String>(2, value -> value.endsWith("0"));
    for (int key : new int[] {0, 10, 20, 1, 2, 3}) {
      cache.get(key, this::make);
    }
    assertThat(cache.values()).contains("value 0", "value 10", "value 20").hasSize(3);
  }

  @Test
  void doesNotCacheFailures() {
    var cache = new LruCache<Integer, String>(2);
    assertThatIllegalStateException()
        .isThrownBy(() ->
            cache.get(
                1,
                _ -> {
                  throw new IllegalStateException("not now");
                }))
        .withMessage("not now");
    assertThat(cache.values()).isEmpty();
    assertThat(cache.get(1, this::make)).isEqualTo("value 1");
    assertThat(cache.find(1)).isEqualTo("value 1");
  }

  @Test
  void computesAValueOnce() throws Exception {
    int threads = 4;
    var cache = new LruCache<Integer, String>(100);
    var start = new CyclicBarrier(threads);
    try (var pool = Executors.newFixedThreadPool(threads)) {
      var tasks = new ArrayList<Callable<Void>>();
      for (int t = 0; t < threads; t++) {
        tasks.add(() -> {
          for (int key = 0; key < 100; key++) {
            start.await();
            assertThat(cache.get(key, this::make)).isEqualTo("value " + key);
          }
          return null;
        });
      }
      for (var done : pool.invokeAll(tasks)) {
        done.get();
      }
    }
    assertThat(made).hasValue(100);
  }

  @Test
  void rejectsALimitOfZero() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new LruCache<Integer, String>(0))
        .withMessage("a cache holds at least 1 value, got a limit of 0");
  }
}
