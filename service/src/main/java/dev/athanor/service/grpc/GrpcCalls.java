package dev.athanor.service.grpc;

import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.replica.EntryRequest;
import dev.athanor.service.replica.Peers;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.security.Caller;
import dev.athanor.service.security.Scope;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** Common parts of calls: caller, context, cancellation, and responses. */
@Component
final class GrpcCalls {

  /** The authenticated caller. */
  static final Context.Key<Caller> CALLER = Context.keyWithDefault("athanor.caller", Caller.LOCAL);

  /** The priority that the client requests; see {@link RequestContext#priority}. */
  static final Context.Key<Boolean> ROW_INVARIANT =
      Context.keyWithDefault("athanor.row-invariant", false);

  static final Context.Key<Integer> PRIORITY =
      Context.keyWithDefault("athanor.priority", Ticket.MIDDLE);

  /** The credentials and the priority of the call, for requests to other replicas. */
  static final Context.Key<Map<String, String>> CREDENTIALS =
      Context.keyWithDefault("athanor.credentials", Map.of());

  private final Peers peers;

  GrpcCalls(Peers peers) {
    this.peers = peers;
  }

  static Tenant tenant() {
    return CALLER.get().tenant();
  }

  /** Returns the account of the current call, which is charged for shared resources. */
  static String account() {
    return CALLER.get().account();
  }

  /** Returns the context of the current call without inline tensors. */
  static RequestContext context() {
    return context(RequestMemory.HEAP);
  }

  /** Returns the context of the current call with memory for inline tensors. */
  static RequestContext context(RequestMemory memory) {
    var context = Context.current();
    var given = context.getDeadline();
    var deadline =
        given == null
            ? Deadline.none()
            : Deadline.in(Math.max(given.timeRemaining(TimeUnit.MILLISECONDS), 1));
    int priority = PRIORITY.get();
    var defaults =
        new RequestContext(
            tenant(),
            account(),
            Ticket.MIDDLE,
            CALLER.get().has(Scope.PRIORITY),
            deadline,
            () -> clientHasGone(context),
            memory,
            ROW_INVARIANT.get());
    return priority == Ticket.MIDDLE
        ? defaults
        : defaults.withPriority(CallMetadata.PRIORITY.name(), priority);
  }

  /** Returns the current call, from which requests to other replicas may follow. */
  static EntryRequest entry() {
    return entry(RequestMemory.HEAP);
  }

  /** The same for a call whose messages take memory. */
  static EntryRequest entry(RequestMemory memory) {
    return new EntryRequest(context(memory), CREDENTIALS.get(), false);
  }

  /**
   * Whether the client canceled the call. A deadline also cancels it, but is reported separately.
   */
  private static boolean clientHasGone(Context context) {
    return context.isCancelled() && !(context.cancellationCause() instanceof TimeoutException);
  }

  /** Answers a unary call; exceptions become its status. */
  <T> void answer(StreamObserver<T> observer, Supplier<T> work) {
    observer.onNext(abandonable(work));
    observer.onCompleted();
  }

  /**
   * Answers a unary call with inline tensors, whose memory is held until the client has received
   * the response.
   */
  <T> void answer(
      StreamObserver<T> observer, InlineMemory inline, Function<RequestMemory, T> work) {
    var call = (ServerCallStreamObserver<T>) observer;
    var memory = inline.open(account());
    // exactly one of these handlers is called, after this method returns
    call.setOnCloseHandler(memory::close);
    call.setOnCancelHandler(memory::close);
    answer(observer, () -> work.apply(memory));
  }

  /** The same for a call of an op, which a failure names. */
  <T> void answer(
      StreamObserver<T> observer, InlineMemory inline, String op, Function<RequestMemory, T> work) {
    answer(observer, inline, memory -> of(op, () -> work.apply(memory)));
  }

  /** Does work of a call of an op, which a failure names. */
  static <T> T of(String op, Supplier<T> work) {
    try {
      return work.get();
    } catch (Failure e) {
      throw e.of(op);
    }
  }

  /**
   * Runs the work of a stream on a new thread, which may wait for the client, since messages are
   * delivered on the call's own thread. The work belongs to the call's trace.
   */
  void start(StreamObserver<?> observer, Runnable work) {
    start(() -> {
      try {
        abandonable(() -> {
          work.run();
          return observer;
        });
      } catch (Throwable e) {
        observer.onError(Statuses.of(e));
      }
    });
  }

  /** Runs work on a new thread in the context and the trace of the current call. */
  static void start(Runnable work) {
    var trace = io.opentelemetry.context.Context.current();
    Thread.startVirtualThread(trace.wrap(Context.current().wrap(work)));
  }

  /**
   * Runs work on this thread and interrupts it if the client cancels.
   *
   * @throws Failure.WrongReplica if the work needs a tensor or a model by a name that only another
   *     replica has
   */
  <T> T abandonable(Supplier<T> work) {
    var context = Context.current();
    var waiter = new Waiter(Thread.currentThread());
    context.addListener(waiter, Runnable::run);
    try {
      return work.get();
    } catch (Failure.UnknownName e) {
      try {
        throw peers.locate(entry(), e);
      } catch (IOException unsent) {
        throw new UncheckedIOException(unsent);
      }
    } finally {
      context.removeListener(waiter);
      waiter.leave();
    }
  }

  private static final class Waiter implements Context.CancellationListener {
    private @Nullable Thread thread;

    Waiter(Thread thread) {
      this.thread = thread;
    }

    @Override
    public synchronized void cancelled(Context context) {
      if (thread != null && clientHasGone(context)) {
        thread.interrupt();
      }
    }

    /** Unregisters the thread and clears a late interrupt. */
    synchronized void leave() {
      thread = null;
      Thread.interrupted();
    }
  }
}
