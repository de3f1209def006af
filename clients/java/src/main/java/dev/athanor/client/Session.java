package dev.athanor.client;

import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The state of a client: connections, tensors, and a thread for lease renewals and retries. */
final class Session implements AutoCloseable {

  private static final System.Logger LOG = System.getLogger("dev.athanor.client");
  private static final int PARALLEL_DELETIONS = 16;
  private static final Pattern HANDLE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]*");
  private static final Pattern NAME = Pattern.compile("(?!t_)[A-Za-z0-9][A-Za-z0-9._-]{0,127}");

  final AthanorBuilder settings;
  final ScheduledThreadPoolExecutor scheduler;
  final Set<RunStream> streams = ConcurrentHashMap.newKeySet();
  private final Transport transport;
  private final Map<URI, Transport> replicas = new ConcurrentHashMap<>();
  private final Set<Resident> open = ConcurrentHashMap.newKeySet();
  private final Set<Attempts<?>> inFlight = ConcurrentHashMap.newKeySet();
  final ModelCalls models = new ModelCalls(this);
  private volatile boolean closed;

  Session(AthanorBuilder settings) {
    this.settings = settings;
    transport = connect(settings.url);
    scheduler =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              var thread = new Thread(task, "athanor-client");
              thread.setDaemon(true);
              return thread;
            });
    scheduler.setRemoveOnCancelPolicy(true);
  }

  private Transport connect(URI url) {
    return String.valueOf(url.getScheme()).startsWith("grpc")
        ? new GrpcTransport(url, settings)
        : new HttpTransport(url, settings);
  }

  /** Returns the transport to a replica, or null if its URL is not configured. */
  @Nullable Transport replica(String name) {
    var url = settings.replica(name);
    return url == null ? null : replicas.computeIfAbsent(url, this::connect);
  }

  /** Sends a request and retries it if that is safe. */
  <T> CompletableFuture<T> call(
      String name, Call call, BiFunction<Transport, CallContext, CompletableFuture<T>> attempt) {
    checkOpen();
    var limit = call.deadline() == null ? settings.deadline : call.deadline();
    var context =
        new CallContext(
            System.nanoTime() + limit.toNanos(), call.priority(), call.idempotencyKey());
    var attempts = new Attempts<>(this, name, call.repeatable(), context, attempt);
    inFlight.add(attempts);
    var result = attempts.start(transport);
    Futures.on(result, (value, failure) -> inFlight.remove(attempts));
    return result;
  }

  /** Tells the listener about a call that has ended. */
  void report(String name, long began, @Nullable Throwable failure) {
    var duration = Duration.ofNanos(System.nanoTime() - began);
    try {
      settings.listener.completed(name, outcome(failure), duration);
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "A call listener failed.", e);
    }
  }

  private static String outcome(@Nullable Throwable failure) {
    if (failure == null) {
      return "ok";
    }
    return failure instanceof AthanorException e
        ? e.code()
        : failure instanceof CancellationException ? "cancelled" : "error";
  }

  private void checkOpen() {
    if (closed) {
      throw new AthanorException(AthanorException.CLOSED, "The client is closed.", null);
    }
  }

  OpStream stream() {
    checkOpen();
    return new OpStream(this, transport.stream(this));
  }

  /** Sends the calls of operations; without targets, all outputs are returned as values. */
  interface Runner {
    CompletableFuture<Map<String, Transport.Output>> run(
        OpCall call, Map<String, Transport.Target> targets);
  }

  /**
   * The properties of a call.
   *
   * @param repeatable whether a retry is safe if the first attempt may have run
   */
  record Call(
      boolean repeatable,
      @Nullable Duration deadline,
      int priority,
      @Nullable String idempotencyKey) {
    static final Call REPEATABLE = new Call(true, null, 0, null);

    /**
     * Returns the options of a request to run ops. It has an idempotency key if all outputs stay on
     * the device, and is repeatable with one, or if it updates no tensor.
     */
    static Call of(
        Map<String, Transport.Target> targets, @Nullable Duration deadline, int priority) {
      var all = targets.values();
      boolean isKeyed = !all.isEmpty() && all.stream().noneMatch(Transport.Target::inline);
      boolean updates = all.stream().anyMatch(target -> target.handle() != null);
      var key = isKeyed ? UUID.randomUUID().toString() : null;
      return new Call(isKeyed || !updates, deadline, priority, key);
    }
  }

  CompletableFuture<Map<String, HostTensor>> runInline(OpCall call) {
    return runInline(call, this::run);
  }

  CompletableFuture<Map<String, HostTensor>> runInline(OpCall call, Runner runner) {
    if (!call.into().isEmpty()) {
      throw new IllegalArgumentException(
          "A result on the host cannot be written into a tensor; call %s on the client itself."
              .formatted(call.op()));
    }
    return Futures.map(
        runner.run(call, Map.of()),
        outputs -> {
          var values = new LinkedHashMap<String, HostTensor>();
          outputs.forEach((name, output) -> values.put(name, output.onHost()));
          return values;
        });
  }

  CompletableFuture<Map<String, Tensor>> runOnDevice(OpCall call) {
    return runOnDevice(call, this::run);
  }

  CompletableFuture<Map<String, Tensor>> runOnDevice(OpCall call, Runner runner) {
    if (call.outputs().isEmpty()) {
      throw new IllegalArgumentException(
          "The call of %s requests no output; request one with output(name).".formatted(call.op()));
    }
    var targets = new LinkedHashMap<String, Transport.Target>();
    for (var name : call.outputs()) {
      var into = call.into().get(name);
      targets.put(
          name, into == null ? Transport.Target.KEEP : new Transport.Target(into.handle(), false));
    }
    return Futures.map(
        runner.run(call, targets),
        outputs -> {
          var tensors = new LinkedHashMap<String, Tensor>();
          outputs.forEach((name, output) -> {
            if (targets.containsKey(name)) {
              tensors.put(name, adopt(output.onDevice(), call.into().get(name)));
            }
          });
          return tensors;
        });
  }

  private CompletableFuture<Map<String, Transport.Output>> run(
      OpCall call, Map<String, Transport.Target> targets) {
    var kind = Call.of(targets, call.deadline(), call.priority());
    var outputs = call(call.op(), kind, (to, context) -> to.run(call, targets, context));
    return Futures.keeping(call, outputs);
  }

  /** Returns the tensor of an output: its target, or a new tensor. */
  Tensor adopt(TensorInfo info, @Nullable Tensor into) {
    if (into != null) {
      into.written(info.version());
      return into;
    }
    return own(info, settings.lease);
  }

  CompletableFuture<Tensor> upload(HostTensor values, UploadOptions options) {
    var lease = options.lease == null ? settings.lease : options.lease;
    options.lease = lease;
    var kind = new Call(true, options.deadline, 0, UUID.randomUUID().toString());
    var created =
        call("tensors.create", kind, (to, context) -> to.create(values, options, context));
    return Futures.map(created, info -> own(info, lease));
  }

  private Tensor own(TensorInfo info, Duration lease) {
    var resident = new Resident(this, info.handle(), lease);
    open.add(resident);
    resident.scheduleRenewal();
    return new Tensor(this, info, resident);
  }

  /** Returns whether a handle is the name under which a tensor is stored. */
  static boolean isName(String handle) {
    return NAME.matcher(handle).matches();
  }

  CompletableFuture<Tensor> store(String name, HostTensor values, StoreOptions options) {
    if (!isName(name)) {
      throw new IllegalArgumentException(
          "Invalid name \"%s\": a name has 1 to 128 letters, digits, periods, hyphens and underscores, and starts with a letter or digit, but not with t_ like handles."
              .formatted(name));
    }
    var kind = new Call(true, options.deadline, 0, null);
    var stored =
        call("tensors.store", kind, (to, context) -> to.store(name, values, options, context));
    return Futures.map(stored, info -> new Tensor(this, info.withHandle(name), null));
  }

  CompletableFuture<Tensor> attach(String handle) {
    if (!HANDLE.matcher(handle).matches()) {
      throw new IllegalArgumentException(
          "Invalid handle \"%s\": handles and names have letters, digits, periods, hyphens and underscores, and start with a letter or digit."
              .formatted(handle));
    }
    return Futures.map(describe(handle), info -> new Tensor(this, info.withHandle(handle), null));
  }

  CompletableFuture<TensorInfo> describe(String handle) {
    return call("tensors.describe", Call.REPEATABLE, (to, context) -> to.describe(handle, context));
  }

  CompletableFuture<TensorInfo> replace(String handle, HostTensor values, @Nullable Long version) {
    var kind = new Call(version == null, null, 0, null);
    return call(
        "tensors.replace", kind, (to, context) -> to.replace(handle, values, version, context));
  }

  CompletableFuture<ByteBuffer> read(String handle, long offset, ByteBuffer target) {
    return call(
        "tensors.read", Call.REPEATABLE, (to, context) -> to.read(handle, offset, target, context));
  }

  CompletableFuture<TensorInfo> renew(String handle, Duration lease) {
    return call(
        "tensors.renew",
        Call.REPEATABLE,
        (to, context) -> to.renew(handle, lease.toSeconds(), context));
  }

  CompletableFuture<String> delete(String handle) {
    return call("tensors.delete", Call.REPEATABLE, (to, context) -> to.delete(handle, context));
  }

  CompletableFuture<String> deleteScope(String scope) {
    return call("tensors.delete", Call.REPEATABLE, (to, context) -> to.deleteScope(scope, context));
  }

  CompletableFuture<Transport.Page> list(@Nullable String after, @Nullable String scope) {
    return call("tensors.list", Call.REPEATABLE, (to, context) -> to.list(after, scope, context));
  }

  void forget(Resident resident) {
    open.remove(resident);
  }

  boolean isClosed() {
    return closed;
  }

  /** Returns the handle of an operand on the device. */
  static String handle(Operand operand) {
    if (operand instanceof Tensor tensor) {
      return tensor.handle();
    }
    if (operand instanceof TensorView view) {
      return handle(view.of());
    }
    throw new IllegalArgumentException(
        "A value of a pipeline can be an input of the same pipeline only.");
  }

  /** Deletes all open tensors, fails the calls in flight, and closes the connections. */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    var pending = new ArrayList<CompletableFuture<?>>();
    for (var resident : List.copyOf(open)) {
      pending.add(resident.free());
      if (pending.size() == PARALLEL_DELETIONS) {
        Resident.awaitQuietly(pending);
        pending.clear();
      }
    }
    Resident.awaitQuietly(pending);
    closed = true;
    var failure =
        new AthanorException(
            AthanorException.CLOSED, "The client was closed during the call.", null);
    inFlight.forEach(attempts -> attempts.fail(failure));
    streams.forEach(stream -> stream.end(failure));
    scheduler.shutdownNow();
    transport.close();
    replicas.values().forEach(Transport::close);
  }
}
