package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/**
 * A tensor in global memory that the tensor memory accelerator reads and writes tile by tile (PTX
 * ISA 9.7.9.25.5). The argument is a tensor map, which gives the extents of a tile and its swizzle
 * in shared memory. Elements outside the tensor are read as zeros and not written. One thread
 * issues a copy.
 */
public final class TensorParameter {

  /** Size of a tensor map. */
  static final int BYTES = 128;

  private final BodyEmitter emitter;
  private final Register map;

  TensorParameter(BodyEmitter emitter, Register map) {
    this.emitter = emitter;
    this.map = map;
  }

  /** Fetches the tensor map, which the first copy would wait for. */
  public void prefetch() {
    emitter.emit("prefetch.tensormap", new Operand.Address(map, 0));
  }

  /**
   * Copies a tile to shared memory. Its bytes, with those outside the tensor, complete at an
   * mbarrier.
   *
   * @param at the coordinates of its first element, the innermost dimension first
   */
  public void load(SharedTile to, Mbarriers full, Int index, List<Int> at) {
    emitter.emit(
        opcode(at, "shared::cluster.global.tile.mbarrier::complete_tx::bytes"),
        to.first().address(),
        tile(at),
        full.at(index));
  }

  /**
   * Copies a tile to the same place in the shared memory of several blocks of the cluster. Its
   * bytes complete at the mbarrier of each of them.
   *
   * @param blocks a bit for each rank
   */
  public void multicast(SharedTile to, Mbarriers full, Int index, List<Int> at, int blocks) {
    emitter.emit(
        opcode(at, "shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"),
        to.first().address(),
        tile(at),
        full.at(index),
        emitter.pure(Type.B16, "mov.b16", Operand.Immediate.of(blocks)));
  }

  /**
   * Copies a tile from shared memory: see {@link KernelBuilder#commitBulkCopies}. Writes of other
   * instructions to it are visible after {@link KernelBuilder#fenceAsyncProxy} in the threads that
   * wrote and a barrier.
   *
   * @param at the coordinates of its first element, the innermost dimension first
   */
  public void store(SharedTile from, List<Int> at) {
    emitter.emit(
        opcode(at, "global.shared::cta.tile.bulk_group"), tile(at), from.first().address());
  }

  private static String opcode(List<Int> at, String rest) {
    return "cp.async.bulk.tensor.%dd.%s".formatted(at.size(), rest);
  }

  private Operand tile(List<Int> at) {
    return new Operand.Tile(map, at.stream().map(Int::operand).toList());
  }
}
