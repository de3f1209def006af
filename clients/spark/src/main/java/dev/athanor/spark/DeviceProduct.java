package dev.athanor.spark;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DType;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.linear.dense.Matmul;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Multiplies batches of vectors by a resident matrix, for one task.
 *
 * <p>Batches of all sizes run the same kernel: the f32 product with tiles of 64 × 64 × 16, one
 * fused multiply-add per lane. It adds the products of an element in the order of the inner
 * dimension, never splits that dimension, and pads rows beyond the batch with zeros, whose results
 * it does not store. A row's result therefore depends on its vector and the matrix only. The
 * planner's choice would depend on the number of rows.
 */
final class DeviceProduct implements AutoCloseable {
  private static final String KERNEL = "matmul_f32_64x64x16_";
  private static final Matmul MATMUL = new Matmul();

  private final ExecutorDevice device;
  private final Attributes attributes;
  private final Map<String, TensorType> types = new HashMap<>();
  private final Map<String, DeviceTensor> constants = new HashMap<>();
  private final int inner;
  private final int columns;
  private final HostMemory hostInput;
  private final HostMemory hostOutput;
  private final Buffer input;
  private final Buffer output;
  private final Stream stream;
  private final Deque<AutoCloseable> resources = new ArrayDeque<>();

  /**
   * Allocates memory for batches of {@code options.batchRows()} vectors.
   *
   * @param device released on close
   * @param id the matrix's key on the device
   * @param rows rows of the matrix
   * @param columns columns of the matrix
   * @param matrix supplies the matrix if it is not on the device
   */
  DeviceProduct(
      ExecutorDevice device,
      String id,
      int rows,
      int columns,
      Supplier<Matrix> matrix,
      ProductOptions options) {
    this.device = device;
    this.attributes = options.attributes();
    this.inner = options.transposed() ? columns : rows;
    this.columns = options.transposed() ? rows : columns;
    resources.push(device::release);
    try {
      var resident = device.matrices().acquire(id, matrix);
      resources.push(() -> device.matrices().release(id));
      constant("b", TensorType.of(DType.F32, rows, columns), resident);
      long inputBytes = (long) options.batchRows() * inner * Float.BYTES;
      long outputBytes = (long) options.batchRows() * this.columns * Float.BYTES;
      input = owned(device.matrices().allocate(inputBytes));
      output = owned(device.matrices().allocate(outputBytes));
      hostInput = owned(device.device().allocateHost(inputBytes));
      hostOutput = owned(device.device().allocateHost(outputBytes));
      stream = owned(device.device().openStream());
      options.optionalBias().ifPresent(this::uploadBias);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private <T extends AutoCloseable> T owned(T resource) {
    resources.push(resource);
    return resource;
  }

  private void constant(String name, TensorType type, Buffer buffer) {
    types.put(name, type);
    constants.put(name, new DeviceTensor(type, buffer));
  }

  private void uploadBias(Matrix bias) {
    var values = MemorySegment.ofArray(bias.values());
    var buffer = owned(device.matrices().allocate(values.byteSize()));
    constant("bias", TensorType.of(DType.F32, bias.columns()), buffer);
    stream.upload(values, buffer, 0);
    stream.synchronize();
  }

  /** Returns the memory of the batch's vectors: row-major, {@code inner} floats per vector. */
  MemorySegment input() {
    return hostInput.segment();
  }

  /**
   * Multiplies the first vectors of {@link #input}.
   *
   * @param rows number of vectors
   * @throws DeviceException if the device fails; it is then reopened for the next task
   */
  void multiply(int rows) {
    types.put("a", TensorType.of(DType.F32, rows, inner));
    var plan = plan(types, attributes, device.device().capability());
    var inputs = new HashMap<>(constants);
    inputs.put("a", tensor(types, "a", input));
    var outputs = Map.of("c", tensor(plan.outputs(), "c", output));
    try {
      stream.upload(input().asSlice(0, bytes(rows, inner)), input, 0);
      plan.enqueue(device.kernels(), stream, new Bindings(inputs, outputs, Optional.empty()));
      stream.download(output, 0, hostOutput.segment().asSlice(0, bytes(rows, columns)));
      stream.synchronize();
    } catch (DeviceException.Lost | DeviceException.KernelFault e) {
      device.retire();
      throw e;
    }
  }

  private static DeviceTensor tensor(Map<String, TensorType> types, String name, Buffer buffer) {
    return new DeviceTensor(Objects.requireNonNull(types.get(name), name), buffer);
  }

  private static long bytes(int rows, int elements) {
    return (long) rows * elements * Float.BYTES;
  }

  /**
   * Returns the plan with the fixed kernel.
   *
   * @throws IllegalStateException if the operation does not have it for this device
   */
  static Plan plan(Map<String, TensorType> types, Attributes attributes, Capability device) {
    return MATMUL.plans(types, attributes, device).stream()
        .filter(plan -> plan.kernel().startsWith(KERNEL) && plan.workspaceBytes() == 0)
        .findFirst()
        .orElseThrow(() ->
            new IllegalStateException(
                "%s (%s) does not support the kernel %s for this product, without which results would depend on the batch size; use a device with compute capability 8.0 or later."
                    .formatted(device.name(), device.target(), KERNEL)));
  }

  /** Copies a row of the last product. */
  float[] result(int row) {
    var values = new float[columns];
    MemorySegment.copy(
        hostOutput.segment(), ValueLayout.JAVA_FLOAT, bytes(row, columns), values, 0, columns);
    return values;
  }

  /** Frees all resources except the matrix. */
  @Override
  public void close() {
    RuntimeException failure = null;
    while (!resources.isEmpty()) {
      try {
        resources.pop().close();
      } catch (Exception e) {
        if (failure == null) {
          failure = new IllegalStateException("Device memory could not be freed.", e);
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
