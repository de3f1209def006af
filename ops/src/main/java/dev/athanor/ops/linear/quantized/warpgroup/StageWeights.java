package dev.athanor.ops.linear.quantized.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/**
 * The weights of a stage in shared memory, in their order in global memory. A lane decodes the
 * weights of its registers in fragments of {@code Fragments.A_16X16}: of two columns of c, pairs of
 * neighbors along K.
 */
public sealed interface StageWeights permits PackedWords, Int8Rows {

  /** Products along K of an instruction. */
  int STEP = 16;

  /** Returns the bytes of the weights of a stage. */
  int stageBytes();

  /** Returns the lanes that read each byte of a stage. */
  int readers();

  /**
   * Returns the instructions of a stage for each register of weights, from the machine code.
   *
   * @param element f16 or bf16
   */
  double instructions(Type element);

  /** Returns the tensor of a K x N matrix. */
  TensorMap tensor(int k, int n);

  /** Returns the bytes between rows of the tensor. */
  long rowBytes(int k, int n);

  /** Returns the place of a stage in the tensor: the index in its first row, then this row. */
  List<Int> at(Int depth, Int column);

  /**
   * Returns what a lane needs to decode its weights.
   *
   * @param element f16 or bf16
   */
  Lane lane(KernelBuilder k, Type element);

  /** The part of a lane. */
  sealed interface Lane permits PackedWords.Lane, Int8Rows.Lane {

    /** Returns the first of the lane's two columns among those of the warpgroup. */
    Int column();

    /** Returns the distance between the lane's two columns. */
    int apart();

    /**
     * Loads the weights of a stage and returns the integers of each step, once they are needed.
     *
     * @param shared whose byte {@code offset} begins the stage
     * @param group index of the warpgroup among those that multiply
     * @param zeros to subtract from the weights of each of the two columns; empty for weights
     *     without zero points
     */
    List<Decoder> load(SharedTile shared, Int offset, Int group, List<Value> zeros);
  }

  /** Emits the instructions that decode the weights of a step. */
  @FunctionalInterface
  interface Decoder {
    MatrixFragment decode();
  }
}
