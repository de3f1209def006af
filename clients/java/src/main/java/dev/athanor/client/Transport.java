package dev.athanor.client;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Sends single requests to one replica. Failures are what the protocol's library throws. */
interface Transport extends AutoCloseable {

  /**
   * Where an output goes.
   *
   * @param handle a tensor that is written into; null to keep the output as a new tensor or, with
   *     {@code inline}, to return it
   */
  record Target(@Nullable String handle, boolean inline) {
    static final Target KEEP = new Target(null, false);
    static final Target INLINE = new Target(null, true);
  }

  /** An output: values, or the tensor that stayed on the device. */
  record Output(@Nullable HostTensor values, @Nullable TensorInfo tensor) {
    HostTensor onHost() {
      if (values == null) {
        throw new Failures.MalformedAnswer("an output has no values");
      }
      return values;
    }

    TensorInfo onDevice() {
      if (tensor == null) {
        throw new Failures.MalformedAnswer("an output has no handle");
      }
      return tensor;
    }
  }

  /** A step of a pipeline; inputs and outputs map names of the operation to names or handles. */
  record Step(
      String op,
      Map<String, String> inputs,
      Map<String, Object> attributes,
      Map<String, String> outputs) {}

  /** A pipeline as it is sent. */
  record Program(Map<String, Operand> inputs, List<Step> steps, Map<String, Target> outputs) {}

  /** A page of a listing. */
  record Page(List<TensorInfo> tensors, Optional<String> next) {}

  /** Runs an operation; with no targets, all outputs come back as values. */
  CompletableFuture<Map<String, Output>> run(OpCall call, Map<String, Target> targets, Terms terms);

  CompletableFuture<Map<String, Output>> run(Program program, Terms terms);

  CompletableFuture<TensorInfo> create(HostTensor values, UploadOptions options, Terms terms);

  /** Stores a tensor under a name. */
  CompletableFuture<TensorInfo> store(
      String name, HostTensor values, StoreOptions options, Terms terms);

  /** Replaces the contents of a tensor if it has the version, or whatever its version if null. */
  CompletableFuture<TensorInfo> replace(
      String handle, HostTensor values, @Nullable Long version, Terms terms);

  /** Reads as many bytes as the buffer has remaining; its position stays. Returns the buffer. */
  CompletableFuture<ByteBuffer> read(String handle, long offset, ByteBuffer target, Terms terms);

  CompletableFuture<TensorInfo> describe(String handle, Terms terms);

  CompletableFuture<TensorInfo> renew(String handle, long seconds, Terms terms);

  /** Deletes a tensor and returns its handle. */
  CompletableFuture<String> delete(String handle, Terms terms);

  /** Deletes the tensors of a scope and returns it. */
  CompletableFuture<String> deleteScope(String scope, Terms terms);

  CompletableFuture<Page> list(@Nullable String after, @Nullable String scope, Terms terms);

  CompletableFuture<List<OpDescription>> ops(Terms terms);

  CompletableFuture<Boolean> ready(Terms terms);

  @Override
  void close();

  /** Returns the tensors that travel with a request, by input. */
  static Map<String, HostTensor> hostInputs(Map<String, Operand> inputs) {
    var host = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, operand) -> {
      if (operand instanceof HostTensor values) {
        host.put(name, values);
      }
    });
    return host;
  }
}
