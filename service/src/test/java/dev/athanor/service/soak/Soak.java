package dev.athanor.service.soak;

import dev.athanor.ops.Catalogue;
import dev.athanor.testing.ServiceProcess;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Clients of one service, which count and check all responses. */
final class Soak implements AutoCloseable {

  /** Maximum number of concurrent turns; further ones wait, as for a socket. */
  private static final int MAX_OPEN = 96;

  private final List<Sample> samples;
  private final List<String> keys;
  private final Rest rest;
  private final ManagedChannel channel;
  private final LinkedHashMap<String, Turn.Action> actions = new LinkedHashMap<>();
  private final List<String> kinds;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Tally tally;
  private final AtomicLong turns;

  /**
   * Opens connections.
   *
   * @param keys the API keys of the tenants
   * @param first the number of the first turn; numbers are unique
   * @param tombstoneTtl how long the service distinguishes expired handles from unknown ones
   */
  Soak(
      ServiceProcess service,
      Catalogue catalogue,
      List<Sample> samples,
      List<String> keys,
      Tally tally,
      long first,
      Duration tombstoneTtl) {
    this.samples = samples;
    this.keys = keys;
    this.tally = tally;
    turns = new AtomicLong(first);
    rest = new Rest(service.url());
    channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1", service.grpcPort(), InsecureChannelCredentials.create())
            .build();
    actions.putAll(new RestActions(rest, service.url(), catalogue, tombstoneTtl).all());
    actions.putAll(new GrpcActions(channel).all());
    kinds = new ArrayList<>(actions.keySet());
  }

  /** The result of a period of load. */
  record LoadResult(double seconds, long turns, long ok) {
    double sent() {
      return turns / seconds;
    }

    double done() {
      return ok / seconds;
    }
  }

  long turns() {
    return turns.get();
  }

  /** Runs every sample once, and every action once. */
  void each() {
    for (var sample : samples) {
      one(kinds.getFirst(), turn(sample));
    }
    for (var kind : kinds) {
      one(kind, turn(samples.getFirst()));
    }
  }

  private Turn turn(Sample sample) {
    long number = turns.getAndIncrement();
    return new Turn(new SplittableRandom(number), key(number), sample);
  }

  /** Runs a closed loop: each client starts its next turn after a response. */
  LoadResult closed(int clients, Duration length) throws InterruptedException {
    long end = System.nanoTime() + length.toNanos();
    return measure(() -> {
      var each = new ArrayList<Thread>();
      for (int i = 0; i < clients; i++) {
        each.add(
            Thread.startVirtualThread(() -> {
              while (System.nanoTime() < end) {
                one();
              }
            }));
      }
      for (var client : each) {
        client.join();
      }
    });
  }

  /** Runs an open loop: turns start at a fixed rate, independent of responses. */
  LoadResult open(double perSecond, Duration length, long max) throws InterruptedException {
    return measure(() -> {
      var free = new Semaphore(MAX_OPEN);
      long start = System.nanoTime();
      for (long i = 0; i < max; i++) {
        long due = start + (long) (i * 1e9 / perSecond);
        if (due - start > length.toNanos() || System.nanoTime() - start > length.toNanos()) {
          break;
        }
        while (System.nanoTime() < due) {
          LockSupport.parkNanos(due - System.nanoTime());
        }
        free.acquire();
        threads.execute(() -> {
          try {
            one();
          } finally {
            free.release();
          }
        });
      }
      free.acquire(MAX_OPEN);
    });
  }

  private interface Load {
    void run() throws InterruptedException;
  }

  private LoadResult measure(Load load) throws InterruptedException {
    long start = System.nanoTime();
    long turnsBefore = turns.get();
    long okBefore = tally.of(Tally.OK);
    load.run();
    return new LoadResult(
        (System.nanoTime() - start) / 1e9,
        turns.get() - turnsBefore,
        tally.of(Tally.OK) - okBefore);
  }

  private String key(long number) {
    return keys.get((int) (number % keys.size()));
  }

  private void one() {
    long number = turns.getAndIncrement();
    var random = new SplittableRandom(number);
    var kind = kinds.get(random.nextInt(kinds.size()));
    one(kind, new Turn(random, key(number), samples.get(random.nextInt(samples.size()))));
  }

  private void one(String kind, Turn turn) {
    try {
      var action = actions.get(kind);
      if (action != null) {
        action.of(turn);
      }
      tally.add(kind, Tally.OK);
    } catch (Refusal e) {
      if (isAllowed(kind, e.code())) {
        tally.add(kind, e.code());
      } else {
        tally.wrong(kind, e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception | AssertionError e) {
      tally.wrong(kind, e);
    }
  }

  /** Returns whether an overloaded service may respond with a code. */
  private static boolean isAllowed(String kind, String code) {
    return switch (code) {
      case "queue-full", "out-of-host-memory" -> true;
      case "deadline-exceeded" -> kind.endsWith("deadline");
      default -> false;
    };
  }

  /** Closes all connections of these clients. */
  @Override
  public void close() {
    threads.close();
    rest.close();
    channel.shutdownNow();
    try {
      if (!channel.awaitTermination(1, TimeUnit.HOURS)) {
        throw new IllegalStateException("the channel does not close");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
