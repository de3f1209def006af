package dev.athanor.client;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Sends single requests to one replica. Fails with the exceptions of the protocol's library. */
interface Transport extends AutoCloseable {

  /** Returns the URL of the service. */
  String url();

  /**
   * The target of an output.
   *
   * @param handle the tensor to write into; null to keep the output as a new tensor or, with {@code
   *     inline}, to return it
   */
  record Target(@Nullable String handle, boolean inline) {
    static final Target KEEP = new Target(null, false);
    static final Target INLINE = new Target(null, true);
  }

  /** An output: values, or a tensor on the device. */
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

  /**
   * What a step of a pipeline reads.
   *
   * @param name a name or a handle
   * @param view the part to read; null for all of it
   */
  record Source(String name, @Nullable TensorView view) {}

  /** A step of a pipeline; inputs and outputs map the operation's names to sources and names. */
  record Step(
      String op,
      Map<String, Source> inputs,
      Map<String, Object> attributes,
      Map<String, String> outputs) {}

  /** The steps of a pipeline request. */
  record Program(Map<String, Operand> inputs, List<Step> steps, Map<String, Target> outputs) {}

  /** A page of a listing. */
  record Page(List<TensorInfo> tensors, Optional<String> next) {}

  /** Runs an operation; without targets, all outputs are returned as values. */
  CompletableFuture<Map<String, Output>> run(
      OpCall call, Map<String, Target> targets, CallContext context);

  /** Opens a stream of calls. */
  RunStream stream(Session session);

  CompletableFuture<Map<String, Output>> run(Program program, CallContext context);

  CompletableFuture<TensorInfo> create(
      HostTensor values, UploadOptions options, CallContext context);

  /** Stores a tensor under a name. */
  CompletableFuture<TensorInfo> store(
      String name, HostTensor values, StoreOptions options, CallContext context);

  /** Replaces the contents of a tensor if it has the version; null for any version. */
  CompletableFuture<TensorInfo> replace(
      String handle, HostTensor values, @Nullable Long version, CallContext context);

  /** Fills the remaining bytes of a buffer without changing its position, and returns it. */
  CompletableFuture<ByteBuffer> read(
      String handle, long offset, ByteBuffer target, CallContext context);

  CompletableFuture<TensorInfo> describe(String handle, CallContext context);

  CompletableFuture<TensorInfo> renew(String handle, long seconds, CallContext context);

  /** Deletes a tensor and returns its handle. */
  CompletableFuture<String> delete(String handle, CallContext context);

  /** Deletes the tensors of a scope and returns it. */
  CompletableFuture<String> deleteScope(String scope, CallContext context);

  CompletableFuture<Page> list(@Nullable String after, @Nullable String scope, CallContext context);

  /** Returns the requests about stored models. */
  ModelTransport models();

  CompletableFuture<List<OpDescription>> ops(CallContext context);

  CompletableFuture<List<DeviceInfo>> devices(CallContext context);

  CompletableFuture<String> metrics(CallContext context);

  CompletableFuture<String> version(CallContext context);

  CompletableFuture<Boolean> ready(CallContext context);

  @Override
  void close();

  /** Returns the inline tensors of a request, by input. */
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
