package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Sink;
import dev.athanor.engine.ptx.Type;

/**
 * An array of mbarriers in shared memory (PTX ISA 9.7.13.15). A phase of an mbarrier completes when
 * all arrivals have come and all expected bytes have been copied; the next phase then begins. The
 * first phase has parity 0. A wait for the parity of the phase before the current one ends at once,
 * so a wait for parity 1 does not block on a new mbarrier.
 */
public final class Mbarriers {

  /** Size of an mbarrier. */
  public static final int BYTES = 8;

  private final KernelBuilder k;
  private final BodyEmitter emitter;
  private final Int first;

  /**
   * Declares mbarriers.
   *
   * @param memory where the first is, aligned to {@link #BYTES}
   */
  public Mbarriers(KernelBuilder k, SharedTile memory) {
    this.k = k;
    emitter = k.emitter();
    first = memory.first();
  }

  /** Initializes an mbarrier. One thread calls it, before {@link Cluster#publishMbarriers}. */
  public void initialize(int index, int arrivals) {
    emitter.emit("mbarrier.init.shared::cta.b64", at(k.integer(index)), Immediate.of(arrivals));
  }

  /**
   * Arrives and adds the bytes that copies into this block will write before the phase completes,
   * those that other blocks of the cluster multicast included.
   */
  public void arriveAndExpect(Int index, int bytes) {
    emitter.emit(
        "mbarrier.arrive.expect_tx.shared::cta.b64", new Sink(), at(index), Immediate.of(bytes));
  }

  /** Arrives in threads where the condition holds. */
  public void arriveWhere(Predicate condition, Int index) {
    emitter.emitIf(condition.register(), "mbarrier.arrive.shared::cta.b64", new Sink(), at(index));
  }

  /**
   * Arrives at an mbarrier of a block of the cluster in threads where the condition holds.
   *
   * @param rank of the block in its cluster
   */
  public void arriveWhere(Predicate condition, Int index, Int rank) {
    var remote =
        emitter.pure(
            Type.U32, "mapa.shared::cluster.u32", address(index).register(), rank.operand());
    emitter.emitIf(
        condition.register(),
        "mbarrier.arrive.shared::cluster.b64",
        new Sink(),
        new Operand.Address(remote, 0));
  }

  /** Waits until the phase with this parity has completed. */
  public void await(Int index, Int parity) {
    var barrier = at(index);
    var phase = parity.operand();
    k.repeatUntil(() ->
        new Predicate(
            emitter,
            emitter.result(Type.PRED, "mbarrier.try_wait.parity.shared::cta.b64", barrier, phase)));
  }

  Operand.Address at(Int index) {
    return address(index).address();
  }

  private Int address(Int index) {
    return first.plus(index.times(BYTES));
  }
}
