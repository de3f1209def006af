package dev.athanor.service.replica;

import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import io.opentelemetry.context.Context;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Stores something on this replica and on others, in two phases: each gets a copy that no request
 * sees, and when all have it, each replica puts its copy in place. What fails before the second
 * phase has changed nothing.
 *
 * @param <T> identifies a copy of another replica
 */
abstract class Replication<T> {

  private final EntryRequest request;
  private final String self;
  private final List<String> others;
  private final int count;
  private final String what;
  private final String under;
  private final Map<String, T> copies = new LinkedHashMap<>();
  private final Map<String, Failure> failed = new LinkedHashMap<>();
  private final List<String> unreachable = new ArrayList<>();

  /**
   * @param self the id of this replica
   * @param others the ids of the others, in the order in which they are asked; those that are
   *     required come first
   * @param count the number of copies, that of this replica included; 0 for all
   * @param what names what is stored, in messages
   * @param under where it is stored, in messages; may be empty
   */
  Replication(
      EntryRequest request,
      String self,
      List<String> others,
      int count,
      String what,
      String under) {
    this.request = request;
    this.self = self;
    this.others = others;
    this.count = count;
    this.what = what;
    this.under = under;
  }

  /** Whether the request fails if a replica cannot take a copy. */
  abstract boolean isRequired(String id);

  /**
   * Gives a replica a copy that no request sees.
   *
   * @throws Failure if it cannot take it
   */
  abstract T copy(String id) throws IOException;

  /**
   * Puts the copy of this replica in place. From then on the request cannot be undone.
   *
   * @param replicas the ids of those with a copy
   */
  abstract void commit(List<String> replicas) throws IOException;

  /**
   * Has another replica put its copy in place, even if the client disconnects, so that the copies
   * do not differ.
   *
   * @param copy null if it has none
   * @return why it did not do so
   */
  abstract Optional<Failure> commit(String id, @Nullable T copy, List<String> replicas)
      throws IOException;

  /** Discards the copy of this replica. */
  abstract void discard();

  /** Discards the copy of another replica. */
  abstract void discard(String id, T copy) throws IOException;

  /** Work that asks other replicas. */
  interface Work<T> {
    T run() throws IOException;
  }

  /**
   * Runs work on a thread of its own. A call's thread may be interrupted when its client
   * disconnects, but copies must be discarded and must not differ even then.
   */
  static <T> T uninterrupted(Work<T> work) throws IOException {
    var outcome = new CompletableFuture<T>();
    Thread.startVirtualThread(
        Context.current()
            .wrap(() -> {
              try {
                outcome.complete(work.run());
              } catch (Throwable e) {
                outcome.completeExceptionally(e);
              }
            }));
    ProcessorShares.release();
    try {
      return outcome.join();
    } catch (CompletionException e) {
      switch (e.getCause()) {
        case Failure failure -> throw failure;
        case IOException failure -> throw failure;
        case null, default -> throw e;
      }
    }
  }

  /** Something that each replica does. */
  interface Task {
    void run(String id) throws IOException;
  }

  /**
   * Has other replicas do what this one has done.
   *
   * @param self the id of this replica
   * @param what returns what is to be reported, given a list of the replicas that have done it
   * @throws Failure.Incomplete if the task fails for some of them
   */
  static void everywhere(String self, List<String> others, Task task, UnaryOperator<String> what)
      throws IOException {
    var done = new ArrayList<String>();
    done.add(self);
    var failed = new LinkedHashMap<String, Failure>();
    for (var id : others) {
      try {
        task.run(id);
        done.add(id);
      } catch (Failure e) {
        failed.put(id, e);
      }
    }
    if (!failed.isEmpty()) {
      throw PeerReplies.incomplete(what.apply(String.join(", ", done)), done, failed);
    }
  }

  /**
   * Stores the copies.
   *
   * @return the ids of the replicas that could not be asked to take or to drop a copy
   * @throws Failure.Incomplete if not all copies could be stored; it lists the replicas with one
   */
  List<String> store() throws IOException {
    boolean committed = false;
    List<String> replicas;
    try {
      copy();
      request.context().deadline().check();
      var all = new ArrayList<String>();
      all.add(self);
      all.addAll(copies.keySet());
      replicas = List.copyOf(all);
      commit(replicas);
      committed = true;
    } finally {
      if (!committed) {
        abandon();
      }
    }
    finish(replicas);
    return List.copyOf(unreachable);
  }

  /** Gives copies to as many replicas as needed; the next one replaces one that fails. */
  private void copy() throws IOException {
    boolean lacking = false;
    for (var id : others) {
      boolean required = count == 0 || isRequired(id);
      if (lacking || (!required && copies.size() >= count - 1)) {
        break;
      }
      try {
        copies.put(id, copy(id));
      } catch (Failure.DeadlineExceeded e) {
        throw e;
      } catch (Failure e) {
        failed.put(id, e);
        lacking = required;
      }
    }
    if (lacking || copies.size() < count - 1) {
      throw PeerReplies.incomplete(
          "no replica has stored %s%s, since too few could take a copy".formatted(what, under),
          List.of(),
          failed);
    }
    failed.forEach((id, failure) -> {
      if (failure.code() == Code.REPLICA_UNAVAILABLE) {
        unreachable.add(id);
      }
    });
    failed.clear();
  }

  /** Discards all copies; leases end those of replicas that do not answer. */
  private void abandon() {
    copies.forEach((id, copy) -> {
      try {
        discard(id, copy);
      } catch (IOException | Failure _) {
        // as the request itself has failed, which is what the client is told
      }
    });
    discard();
  }

  private void finish(List<String> replicas) throws IOException {
    var done = new ArrayList<String>();
    done.add(self);
    for (var id : others) {
      var copy = copies.get(id);
      if (copy != null) {
        commit(id, copy, replicas)
            .ifPresentOrElse(failure -> failed.put(id, failure), () -> done.add(id));
      } else if (!unreachable.contains(id) && commit(id, null, replicas).isPresent()) {
        unreachable.add(id);
      }
    }
    if (!failed.isEmpty()) {
      throw PeerReplies.incomplete(
          "%s is stored%s on %s, but not on all of %s; send the request again"
              .formatted(what, under, String.join(", ", done), String.join(", ", replicas)),
          done,
          failed);
    }
  }
}
