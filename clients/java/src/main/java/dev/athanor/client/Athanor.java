package dev.athanor.client;

import dev.athanor.client.ops.Operations;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A client of one Athanor service. Results of operations stay on the device; {@link #inline()}
 * returns them to the host. Thread-safe.
 *
 * <pre>{@code
 * try (var athanor = Athanor.connect("http://127.0.0.1:8080");
 *     var w = athanor.upload(weights)) {
 *   HostTensor y = athanor.inline().matmul(x, w, o -> o.activation(Activation.RELU));
 * }
 * }</pre>
 *
 * <p>Calls throw {@link AthanorException} if the service rejects them, fails or cannot be reached.
 */
public final class Athanor extends Operations<Tensor> implements AutoCloseable {

  private final Session session;

  Athanor(Session session) {
    super(new AsyncAthanor(session));
    this.session = session;
  }

  /**
   * Returns a client with default settings.
   *
   * @param url {@code http://}, {@code https://}, {@code grpc://} or {@code grpcs://}, host and
   *     port
   */
  public static Athanor connect(String url) {
    return builder(url).build();
  }

  /** Returns a builder of a client. */
  public static AthanorBuilder builder(String url) {
    return new AthanorBuilder(url);
  }

  /** Returns the same operations without blocking. */
  @Override
  public AsyncAthanor async() {
    return (AsyncAthanor) super.async();
  }

  /** Returns the same operations with results on the host, in one round trip each. */
  public Operations<HostTensor> inline() {
    return new Operations<>(async().inline());
  }

  /**
   * Opens a stream, which runs many calls in order without a round trip for each. Needs gRPC.
   *
   * @throws UnsupportedOperationException over HTTP
   */
  public OpStream stream() {
    return session.stream();
  }

  /** Copies values to the device. */
  public Tensor upload(HostTensor values) {
    return Futures.await(async().upload(values));
  }

  /** Copies values to the device: {@code upload(w, o -> o.name("w").scope("job7"))}. */
  public Tensor upload(HostTensor values, Consumer<UploadOptions> options) {
    return Futures.await(async().upload(values, options));
  }

  /**
   * Stores values under a name, replacing a tensor of that name: {@code store("w", values, o ->
   * o.allReplicas())}. The tensor is addressed by its name, on every replica, and stays on the
   * service when it or the client is closed. Needs HTTP.
   *
   * @param name 1 to 128 letters, digits, periods, hyphens and underscores; must start with a
   *     letter or digit, but not with {@code t_}
   */
  public Tensor store(String name, HostTensor values, Consumer<StoreOptions> options) {
    return Futures.await(async().store(name, values, options));
  }

  /** Stores values under a name, on one replica. */
  public Tensor store(String name, HostTensor values) {
    return store(name, values, options -> {});
  }

  /**
   * Returns an existing tensor. The client does not own it: closing it does not delete it, and its
   * lease is not renewed.
   *
   * @param handle the tensor's handle, or the name under which it is stored
   */
  public Tensor attach(String handle) {
    return Futures.await(session.attach(handle));
  }

  /** Returns descriptions of the tenant's tensors, newest first. */
  public List<TensorInfo> tensors() {
    return list(null);
  }

  /** Returns descriptions of the tensors of a scope, newest first. */
  public List<TensorInfo> tensors(String scope) {
    return list(scope);
  }

  private List<TensorInfo> list(@Nullable String scope) {
    var tensors = new ArrayList<TensorInfo>();
    @Nullable String after = null;
    do {
      var page = Futures.await(session.list(after, scope));
      tensors.addAll(page.tensors());
      after = page.next().orElse(null);
    } while (after != null);
    return tensors;
  }

  /** Deletes all tensors of a scope. */
  public void deleteScope(String scope) {
    Futures.await(session.deleteScope(scope));
  }

  /**
   * Stores an ONNX model, or replaces the model with this name.
   *
   * @param name 1 to 64 letters, digits, periods, hyphens and underscores; must start with a letter
   *     or digit
   * @param file an ONNX file with its weights
   * @throws AthanorException if the file is not a model, or has nodes that no operation expresses
   */
  public ModelInfo storeModel(String name, byte[] file) {
    return Futures.await(session.models.store(name, ModelFile.of(file)));
  }

  /**
   * Stores a model, or replaces the model with this name.
   *
   * @param name as in {@link #storeModel(String, byte[])}
   * @param path an ONNX file; or a folder, or its zip with the ending {@code .zip}: a checkpoint
   *     ({@code config.json} and safetensors files) or an ONNX file with its weights beside it.
   *     Files whose names start with a period are not sent.
   * @throws AthanorException if it is not a model, or has parts that are not supported
   * @throws IllegalArgumentException if it cannot be read
   */
  public ModelInfo storeModel(String name, Path path) {
    return Futures.await(session.models.store(name, ModelFile.of(path)));
  }

  /** Returns the stored models. */
  public List<ModelInfo> models() {
    return Futures.await(session.models.list());
  }

  /**
   * Runs a stored model.
   *
   * @param inputs by the model's inputs
   * @param outputs the outputs to keep on the device
   */
  public Map<String, Tensor> runModel(
      String name, Map<String, Operand> inputs, List<String> outputs) {
    return Futures.await(async().runModel(name, inputs, outputs));
  }

  /**
   * Runs a stored model in a session, whose state the call reads and updates.
   *
   * @param sessionId from {@link #createSession}
   */
  public Map<String, Tensor> runModel(
      String name, String sessionId, Map<String, Operand> inputs, List<String> outputs) {
    return Futures.await(async().runModel(name, sessionId, inputs, outputs));
  }

  /** Deletes a model and its weights. */
  public void deleteModel(String name) {
    Futures.await(session.models.delete(name));
  }

  /** Creates a session of a model with the service's default lease. */
  public SessionInfo createSession(String model) {
    return Futures.await(session.models.createSession(model, null));
  }

  /**
   * Creates a session of a model.
   *
   * @param lease in whole seconds, renewed by each call; zero keeps the session until it is deleted
   */
  public SessionInfo createSession(String model, Duration lease) {
    return Futures.await(session.models.createSession(model, lease.toSeconds()));
  }

  /** Creates a session with the state of another, which stays as it is. */
  public SessionInfo forkSession(String model, String sessionId) {
    return Futures.await(session.models.forkSession(model, sessionId));
  }

  /** Returns the sessions of a model. */
  public List<SessionInfo> sessions(String model) {
    return Futures.await(session.models.sessions(model));
  }

  /** Deletes a session and frees its state. */
  public void deleteSession(String model, String sessionId) {
    Futures.await(session.models.deleteSession(model, sessionId));
  }

  /** Generates tokens with a decoder. */
  public Generation generate(String model, GenerateRequest request) {
    return generate(model, request, token -> {});
  }

  /**
   * Generates tokens with a decoder. An interrupt of the thread, or an exception of the receiver,
   * ends the generation.
   *
   * @param receiver gets each token as it arrives, on a thread of the client; must not block
   */
  public Generation generate(String model, GenerateRequest request, LongConsumer receiver) {
    return Futures.await(async().generate(model, request, receiver));
  }

  /** Returns an empty pipeline. */
  public Pipeline pipeline() {
    return new Pipeline(session);
  }

  /** Returns descriptions of the service's operations. */
  public List<OpDescription> ops() {
    return Futures.await(session.call("ops.list", Session.Call.REPEATABLE, Transport::ops));
  }

  /** Returns the state of the service's devices. Needs HTTP and the scope {@code metrics}. */
  public List<DeviceInfo> devices() {
    return Futures.await(session.call("devices", Session.Call.REPEATABLE, Transport::devices));
  }

  /** Returns metrics in Prometheus format. Needs HTTP and the scope {@code metrics}. */
  public String metrics() {
    return Futures.await(session.call("metrics", Session.Call.REPEATABLE, Transport::metrics));
  }

  /** Returns the version of the service, such as {@code 0.1.0}. */
  public String version() {
    return Futures.await(session.call("version", Session.Call.REPEATABLE, Transport::version));
  }

  /**
   * Returns whether the service accepts calls.
   *
   * @throws AthanorException if it cannot be reached
   */
  public boolean ready() {
    return Futures.await(session.call("ready", Session.Call.REPEATABLE, Transport::ready));
  }

  /**
   * Deletes all tensors that this client created and that are still open, then disconnects. Calls
   * in flight and later ones fail with code {@code closed}.
   */
  @Override
  public void close() {
    session.close();
  }
}
