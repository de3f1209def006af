package dev.athanor.service.session;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelDefinition.State;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import dev.athanor.service.transfer.Transfers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The keys and values of all sessions of a model: for each state a resident tensor of blocks, which
 * sessions share. A block holds {@value #BLOCK} positions of one sequence, or of several that have
 * the same beginning.
 */
final class CachePool {

  /** Positions of a block. */
  static final int BLOCK = 32;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final StoredModel model;
  private final List<State.Cached> states;
  private final long bytesPerBlock;
  private final Runnable reclaim;

  /** The handles of the blocks by the name of the state's input. */
  private final Map<String, String> handles = new LinkedHashMap<>();

  /** The number of sessions that use each block. */
  private final int[] users;

  private final Deque<Integer> free = new ArrayDeque<>();

  private CachePool(StoredModel model, List<State.Cached> states, int blocks, Runnable reclaim) {
    this.model = model;
    this.reclaim = reclaim;
    this.states = states;
    users = new int[blocks];
    for (int i = 0; i < blocks; i++) {
      free.add(i);
    }
    bytesPerBlock =
        states.stream()
            .mapToLong(state -> state.heads() * state.size() * state.dtype().bytes() * BLOCK)
            .sum();
  }

  /**
   * Creates the pool of a model.
   *
   * @param positions of all sessions together
   * @param reclaim ends sessions that have expired
   * @throws Failure if a quota or the memory does not suffice
   */
  static CachePool create(
      StoredModel model,
      int positions,
      TensorStore store,
      Transfers transfers,
      Runnable reclaim,
      RequestContext context) {
    var states = new ArrayList<State.Cached>();
    for (var state : model.definition().states()) {
      if (state instanceof State.Cached cached) {
        states.add(cached);
      }
    }
    var pool = new CachePool(model, List.copyOf(states), Math.ceilDiv(positions, BLOCK), reclaim);
    var tensors = store.of(context.tenant());
    try {
      for (var state : states) {
        var type =
            new TensorType(
                state.dtype(),
                new Shape(
                    List.of((long) pool.users.length, state.heads(), (long) BLOCK, state.size())));
        var options = new TensorOptions(state.input(), model.scope(), Duration.ZERO, null);
        var charge = tensors.charge(type.bytes());
        var info = transfers.create(Elements.zeros(type), charge, options, context);
        pool.handles.put(state.input(), info.handle());
      }
      return pool;
    } catch (IOException e) {
      throw new UncheckedIOException(e); // nothing is read
    } catch (RuntimeException e) {
      pool.delete(store, context.tenant());
      throw e;
    }
  }

  /** Deletes the tensors that are left. */
  void delete(TensorStore store, Tenant tenant) {
    handles.values().stream().filter(store::lives).forEach(store.of(tenant)::delete);
  }

  /** Returns whether all tensors of the pool are still resident. */
  boolean isIntact(TensorStore store) {
    return handles.values().stream().allMatch(store::lives);
  }

  /** Returns the bytes of a number of blocks. */
  long bytes(int blocks) {
    return blocks * bytesPerBlock;
  }

  /**
   * Takes free blocks; ends sessions that have expired if there are too few.
   *
   * @throws Failure.Busy if too few are free nevertheless
   */
  List<Integer> take(int count) {
    return takeFree(count)
        .or(() -> {
          reclaim.run();
          return takeFree(count);
        })
        .orElseThrow(() -> exhausted(count));
  }

  private synchronized Optional<List<Integer>> takeFree(int count) {
    if (free.size() < count) {
      return Optional.empty();
    }
    var taken = new ArrayList<Integer>();
    for (int i = 0; i < count; i++) {
      int block = free.remove();
      users[block] = 1;
      taken.add(block);
    }
    return Optional.of(taken);
  }

  private synchronized Failure exhausted(int count) {
    return new Failure.Busy(
        Code.QUOTA_EXCEEDED,
        "the cache of the model %s has %d blocks of %d positions; %d more are needed, and %d are free. Delete sessions, or raise athanor.models.cache-positions."
            .formatted(model.name(), users.length, BLOCK, count, free.size()),
        RETRY);
  }

  /** Adds a user to blocks. */
  synchronized void share(List<Integer> blocks) {
    blocks.forEach(block -> users[block]++);
  }

  /** Removes a user from blocks. */
  synchronized void release(List<Integer> blocks) {
    for (int block : blocks) {
      if (--users[block] == 0) {
        free.addFirst(block);
      }
    }
  }

  /**
   * Returns the inputs of a call that appends positions to sequences. A sequence without positions
   * is padding: nothing is written for it.
   *
   * @param lengths the positions of each sequence after the call
   * @param blocks the blocks of each sequence
   */
  Map<String, Call.Input> inputs(List<Integer> lengths, List<List<Integer>> blocks) {
    int most = blocks.stream().mapToInt(List::size).max().orElse(1);
    int columns = Integer.highestOneBit(Math.max(2 * most - 1, 1)); // few shapes to compile
    var table = new int[lengths.size() * columns];
    for (int i = 0; i < blocks.size(); i++) {
      for (int j = 0; j < blocks.get(i).size(); j++) {
        table[i * columns + j] = blocks.get(i).get(j);
      }
    }
    var inputs = new LinkedHashMap<String, Call.Input>();
    var flat = lengths.stream().mapToInt(Integer::intValue).toArray();
    inputs.put(ModelDefinition.LENGTHS, integers(flat, List.of((long) flat.length)));
    inputs.put(
        ModelDefinition.BLOCK_TABLE, integers(table, List.of((long) flat.length, (long) columns)));
    handles.forEach((state, handle) -> inputs.put(state, new Call.Input.Resident(handle)));
    return inputs;
  }

  static Call.Input integers(int[] values, List<Long> shape) {
    var tensor = HostTensor.zeros(new TensorType(DType.I32, new Shape(shape)));
    for (int i = 0; i < values.length; i++) {
      tensor.data().set(ValueLayout.JAVA_INT_UNALIGNED, (long) i * Integer.BYTES, values[i]);
    }
    return new Call.Input.Inline(tensor);
  }

  /** Returns where the caches that a call computes go: into the pool, in place. */
  Map<String, Target> targets() {
    var targets = new LinkedHashMap<String, Target>();
    for (var state : states) {
      targets.put(state.output(), into(state));
    }
    return targets;
  }

  Target into(State.Cached state) {
    return new Target(new Destination.Into(handle(state), null, true), null);
  }

  String handle(State.Cached state) {
    return Objects.requireNonNull(handles.get(state.input()));
  }

  List<State.Cached> states() {
    return states;
  }
}
