package dev.athanor.service.grpc;

import dev.athanor.service.device.InlineMemory;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.security.Caller;
import dev.athanor.service.security.Scope;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What all calls have in common: whose they are, how long they may take, who waits for them. */
final class Requests {

  /** The authenticated caller. */
  static final Context.Key<Caller> CALLER = Context.keyWithDefault("athanor.caller", Caller.LOCAL);

  /** The priority that the client asks for; see {@link RequestContext#priority}. */
  static final Context.Key<Integer> PRIORITY =
      Context.keyWithDefault("athanor.priority", Ticket.MIDDLE);

  private Requests() {}

  public static Tenant tenant() {
    return CALLER.get().tenant();
  }

  /** On which terms the call at hand is to be served. */
  public static RequestContext context() {
    return context(RequestMemory.HEAP);
  }

  /** The same of a call whose tensors come and go in some memory. */
  public static RequestContext context(RequestMemory memory) {
    var context = Context.current();
    var given = context.getDeadline();
    var deadline =
        given == null
            ? Deadline.none()
            : Deadline.in(Math.max(given.timeRemaining(TimeUnit.MILLISECONDS), 1));
    int priority = PRIORITY.get();
    var usual =
        new RequestContext(
            tenant(),
            Ticket.MIDDLE,
            CALLER.get().has(Scope.PRIORITY),
            deadline,
            () -> clientHasGone(context),
            memory);
    return priority == Ticket.MIDDLE
        ? usual
        : usual.withPriority(CallMetadata.PRIORITY.name(), priority);
  }

  /** A deadline cancels a call too, but those who wait know of it and have more to say. */
  private static boolean clientHasGone(Context context) {
    return context.isCancelled() && !(context.cancellationCause() instanceof TimeoutException);
  }

  /** Answers a call that has one answer; what is thrown becomes its status. */
  static <T> void answer(StreamObserver<T> observer, Supplier<T> work) {
    observer.onNext(abandonable(work));
    observer.onCompleted();
  }

  /**
   * Answers a call that has one answer, whose tensors lie in memory that counts as the request's
   * until the client has taken them.
   */
  static <T> void answer(
      StreamObserver<T> observer, InlineMemory inline, Function<RequestMemory, T> work) {
    var call = (ServerCallStreamObserver<T>) observer;
    var memory = inline.open(tenant());
    // exactly one of the two is called, after this method
    call.setOnCloseHandler(memory::close);
    call.setOnCancelHandler(memory::close);
    answer(observer, () -> work.apply(memory));
  }

  /**
   * Does the work of a stream in a thread of its own, which may wait for the client: what the
   * client sends is delivered by the other one. The work stays in the call's trace.
   */
  static void start(StreamObserver<?> observer, Runnable work) {
    var inContext =
        Context.current()
            .wrap(() -> {
              try {
                abandonable(() -> {
                  work.run();
                  return observer;
                });
              } catch (Throwable e) {
                observer.onError(Statuses.of(e));
              }
            });
    Thread.startVirtualThread(io.opentelemetry.context.Context.current().wrap(inContext));
  }

  /** Does work in this thread, and interrupts it when the client goes. */
  static <T> T abandonable(Supplier<T> work) {
    var context = Context.current();
    var waiter = new Waiter(Thread.currentThread());
    context.addListener(waiter, Runnable::run);
    try {
      return work.get();
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

    /** An interrupt that comes late is nobody's. */
    synchronized void leave() {
      thread = null;
      Thread.interrupted();
    }
  }
}
