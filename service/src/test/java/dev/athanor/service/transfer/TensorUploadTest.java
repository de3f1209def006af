package dev.athanor.service.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.device.Staging;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.FakeDevice;
import dev.athanor.service.run.Occupant;
import dev.athanor.service.run.Rig;
import dev.athanor.service.schedule.TenantShares;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Pin.Access;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests uploads in several pieces, which may fail at any byte. */
class TensorUploadTest {

  /** Two large pieces and a remainder. */
  private static final TensorType TYPE = TensorType.of(DType.U8, 2 * Staging.LARGE + 1000);

  private static final RequestContext CONTEXT = new RequestContext(Tenant.LOCAL, Deadline.none());
  private static final long MEMORY = 3 * TYPE.bytes();

  @TempDir static Path folder;

  private final ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
  private FakeDevice device;
  private Rig rig;

  TensorUploadTest() {
    start(MEMORY, 1);
  }

  /** Starts a service with a device memory size in bytes and a queue length. */
  private void start(long memory, int queue) {
    device = new FakeDevice(0, memory);
    var planner = new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json")));
    var settings = new TensorSettings(1 << 30, 100, Duration.ZERO, 0, Duration.ofMinutes(1));
    rig = new Rig(device, planner, 1, queue, settings);
  }

  @AfterEach
  void stop() {
    clients.close();
    closeAndCheckLeaks();
  }

  private void closeAndCheckLeaks() {
    rig.close();
    assertThat(device.openHostMemories()).as("leaked host memory").isZero();
    assertThat(device.wasFreedDirty() && !rig.health.isLost(0)).isFalse();
  }

  private void restart(long memory, int queue) {
    closeAndCheckLeaks();
    start(memory, queue);
  }

  // -- clients

  private static byte[] bytes(long seed) {
    var bytes = new byte[(int) TYPE.bytes()];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  /** A client that sends bytes in small parts, and runs an action before one of them. */
  private static final class Client extends ByteSource {
    private final byte[] bytes;
    private final int before;
    private final Action action;
    private int at;

    interface Action {
      void run() throws IOException;
    }

    Client(byte[] bytes, int before, Action action) {
      this.bytes = bytes;
      this.before = before;
      this.action = action;
    }

    Client(byte[] bytes) {
      this(bytes, -1, () -> {});
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      if (at == before) {
        action.run();
      }
      if (at == bytes.length) {
        return -1;
      }
      int end = at < before ? before : bytes.length;
      int n = Math.min(Math.min(length, 5000), end - at);
      System.arraycopy(bytes, at, target, offset, n);
      at += n;
      return n;
    }
  }

  private static Elements elements(Client client) {
    return Elements.of(TYPE, client, 1 << 30, "body");
  }

  private TensorInfo create(Client client, RequestContext context) throws IOException {
    var charge = rig.store.of(context.tenant()).charge(TYPE.bytes());
    return rig.transfers.create(elements(client), charge, TensorOptions.NONE, context);
  }

  private TensorInfo replace(
      String handle, Client client, LongPredicate matches, RequestContext context)
      throws IOException {
    return rig.transfers.replace(handle, elements(client), matches, context);
  }

  private byte[] read(String handle) {
    var all = new byte[(int) TYPE.bytes()];
    try (var reader = rig.transfers.open(handle, CONTEXT)) {
      read(reader, all, 0);
    }
    return all;
  }

  /** Reads the rest of a tensor. */
  private static void read(Transfers.Reader reader, byte[] all, int from) {
    int at = from;
    while (at < all.length) {
      at = readPiece(reader, all, at);
    }
  }

  private static int readPiece(Transfers.Reader reader, byte[] all, int at) {
    try (var piece = reader.readPiece(at, all.length - at)) {
      var some = piece.bytes().asByteBuffer();
      int n = some.remaining();
      some.get(all, at, n);
      return at + n;
    }
  }

  /** Returns the memory use of the device and the tensors of the tenant. */
  private List<Object> state() {
    var tensors = rig.store.of(Tenant.LOCAL).list(100, null, null).tensors();
    return List.of(device.memory(), rig.store.count(), rig.store.bytes(), tensors);
  }

  // -- successful uploads

  @Test
  void uploadsAndDownloadsInPieces() throws IOException {
    var info = create(new Client(bytes(1)), CONTEXT);
    assertThat(read(info.handle())).isEqualTo(bytes(1));
    assertThat(replace(info.handle(), new Client(bytes(2)), _ -> true, CONTEXT).version())
        .isEqualTo(2);
    assertThat(read(info.handle())).isEqualTo(bytes(2));
    assertThat(device.openBuffers()).as("no second copy").isEqualTo(1);
    assertThat(device.hostMemoriesEver(Staging.LARGE)).as("one buffer for all pieces").isEqualTo(1);
    assertThat(device.hostMemoriesEver(TYPE.bytes())).isZero();
  }

  @Test
  void replacesContentsThroughTheHostIfTheDeviceIsFull() throws IOException {
    restart(TYPE.bytes(), 1);
    var info = create(new Client(bytes(1)), CONTEXT);
    replace(info.handle(), new Client(bytes(2)), _ -> true, CONTEXT);
    assertThat(read(info.handle())).isEqualTo(bytes(2));
    assertThat(device.hostMemoriesEver(TYPE.bytes())).isEqualTo(1);
    assertThat(device.openHostMemories(TYPE.bytes())).isZero();
  }

  @Test
  void usesSmallPiecesIfLargeOnesAreInUse() throws Exception {
    restart(20 * TYPE.bytes(), 16);
    int many = 6;
    var arrived = new CountDownLatch(many);
    var uploads = new ArrayList<CompletableFuture<TensorInfo>>();
    for (int i = 0; i < many; i++) {
      var client =
          new Client(
              bytes(i),
              1,
              () -> {
                arrived.countDown();
                awaitOrFail(arrived);
              });
      uploads.add(
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return create(client, CONTEXT);
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              },
              clients));
    }
    for (int i = 0; i < many; i++) {
      assertThat(read(uploads.get(i).get().handle())).isEqualTo(bytes(i));
    }
    assertThat(device.hostMemoriesEver(Staging.LARGE)).isEqualTo(2);
    assertThat(device.hostMemoriesEver(Staging.SMALL)).isBetween(1, many);
  }

  private static void awaitOrFail(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void readersNeverSeePartialContents() throws IOException {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var seen = new ArrayList<byte[]>();
    var client = new Client(bytes(2), (int) TYPE.bytes() - 1, () -> seen.add(read(handle)));
    replace(handle, client, _ -> true, CONTEXT);
    assertThat(seen).hasSize(1).first().isEqualTo(bytes(1));
    assertThat(read(handle)).isEqualTo(bytes(2));
  }

  @Test
  void tensorDeletedDuringAWriteIsFreedAfterIt() throws IOException {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var client =
        new Client(bytes(2), Staging.LARGE + 1, () -> rig.store.of(Tenant.LOCAL).delete(handle));
    replace(handle, client, _ -> true, CONTEXT);
    assertThat(device.openBuffers()).isZero();
    assertThat(rig.store.bytes()).isZero();
  }

  /** The queue is full, but an upload that has begun may continue. */
  @Test
  void fullQueueDoesNotRejectStartedUploads() throws Exception {
    var busy = new Occupant();
    var waits = new Occupant();
    var others = new ArrayList<CompletableFuture<?>>();
    var client =
        new Client(
            bytes(1),
            Staging.LARGE + 1,
            () -> {
              others.add(CompletableFuture.runAsync(() -> rig.pool.run(busy, CONTEXT), clients));
              awaitOrFail(busy.begun);
              others.add(CompletableFuture.runAsync(() -> rig.pool.run(waits, CONTEXT), clients));
              await().until(() -> rig.pool.waiting() == 1);
              assertThatThrownBy(() -> rig.pool.run(new Occupant(), CONTEXT))
                  .isInstanceOf(Failure.Busy.class);
              clients.execute(() -> {
                await().until(() -> rig.pool.waiting() == 2);
                busy.end.countDown();
                waits.end.countDown();
              });
            });
    assertThat(read(create(client, CONTEXT).handle())).isEqualTo(bytes(1));
    for (var other : others) {
      other.get();
    }
  }

  // -- failed uploads

  enum Kind {
    CREATION,
    REPLACEMENT
  }

  private void upload(Kind kind, String handle, Client client, RequestContext context)
      throws IOException {
    switch (kind) {
      case CREATION -> create(client, context);
      case REPLACEMENT -> replace(handle, client, _ -> true, context);
    }
  }

  @ParameterizedTest
  @EnumSource
  void uploadsMayAbortAtAnyByte(Kind kind) throws IOException {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var before = state();
    int last = (int) TYPE.bytes() - 1;
    for (int at : List.of(0, 1, Staging.LARGE - 1, Staging.LARGE, 2 * Staging.LARGE, last)) {
      var client =
          new Client(
              bytes(2),
              at,
              () -> {
                throw new IOException("gone");
              });
      assertThatThrownBy(() -> upload(kind, handle, client, CONTEXT)).hasMessage("gone");
      assertThat(state()).as("after byte %d", at).isEqualTo(before);
    }
    assertThat(read(handle)).isEqualTo(bytes(1));
  }

  @ParameterizedTest
  @EnumSource
  void rejectsTooFewOrTooManyBytes(Kind kind) throws IOException {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var before = state();
    for (int more : List.of(-1, 1)) {
      var client = new Client(new byte[(int) TYPE.bytes() + more]);
      assertThatThrownBy(() -> upload(kind, handle, client, CONTEXT))
          .hasMessage(
              "u8[2098152] needs 2098152 bytes of data, got %s"
                  .formatted(more < 0 ? "2098151" : "more"));
      assertThat(state()).isEqualTo(before);
    }
    assertThat(read(handle)).isEqualTo(bytes(1));
  }

  @ParameterizedTest
  @EnumSource
  void everyOperationOfTheDeviceMayFail(Kind kind) throws IOException {
    int operations = 0;
    while (true) {
      var handle = create(new Client(bytes(1)), CONTEXT).handle();
      var before = state();
      device.failAfter(operations, new DeviceException.KernelFault("copy", List.of("by the test")));
      try {
        upload(kind, handle, new Client(bytes(2)), CONTEXT);
        break;
      } catch (Failure e) {
        var written = rig.store.of(Tenant.LOCAL).describe(handle).version() > 1;
        if (!written) {
          assertThat(state()).as("operation %d", operations).isEqualTo(before);
          assertThat(read(handle)).isEqualTo(bytes(1));
        }
        assertThat(device.openBuffers()).isEqualTo(1);
      }
      operations++;
      restart(MEMORY, 1);
    }
    assertThat(operations).isGreaterThan(2);
  }

  @ParameterizedTest
  @EnumSource
  void lateUploadsChangeNothing(Kind kind) throws IOException {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var before = state();
    for (int at : List.of(1, Staging.LARGE + 1, (int) TYPE.bytes() - 1)) {
      var deadline = Deadline.in(300);
      var client =
          new Client(bytes(2), at, () -> await().until(() -> deadline.remainingNanos() < 0));
      var context = new RequestContext(Tenant.LOCAL, deadline);
      assertThatThrownBy(() -> upload(kind, handle, client, context))
          .isInstanceOf(Failure.DeadlineExceeded.class);
      await().untilAsserted(() -> assertThat(state()).isEqualTo(before));
    }
    assertThat(read(handle)).isEqualTo(bytes(1));
  }

  // -- reads during writes

  @Test
  void readersKeepTheirVersionDuringWrites() throws IOException {
    restart(5 * TYPE.bytes(), 1);
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var first = new byte[(int) TYPE.bytes()];
    var second = new byte[(int) TYPE.bytes()];
    try (var reader = rig.transfers.open(handle, CONTEXT)) {
      int at = readPiece(reader, first, 0);
      replace(handle, new Client(bytes(2)), _ -> true, CONTEXT);
      try (var another = rig.transfers.open(handle, CONTEXT)) {
        int there = readPiece(another, second, 0);
        replace(handle, new Client(bytes(3)), _ -> true, CONTEXT);
        assertThat(rig.store.bytes()).as("bytes including copies").isEqualTo(3 * TYPE.bytes());
        read(another, second, there);
        assertThat(another.info().version()).isEqualTo(2);
      }
      read(reader, first, at);
      assertThat(reader.info().version()).isEqualTo(1);
    }
    assertThat(first).isEqualTo(bytes(1));
    assertThat(second).isEqualTo(bytes(2));
    assertThat(read(handle)).isEqualTo(bytes(3));
    assertThat(rig.store.bytes()).isEqualTo(TYPE.bytes());
    assertThat(device.openBuffers()).isEqualTo(1);
  }

  @Test
  void readersFailIfTheirVersionCannotBePreserved() throws IOException {
    restart(2 * TYPE.bytes(), 1);
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    try (var reader = rig.transfers.open(handle, CONTEXT)) {
      int at = readPiece(reader, new byte[(int) TYPE.bytes()], 0);
      replace(handle, new Client(bytes(2)), _ -> true, CONTEXT);
      var failure = catchThrowableOfType(Failure.class, () -> reader.readPiece(at, 1));
      assertThat(failure.code()).isEqualTo(Code.HANDLE_IN_USE);
      assertThat(failure)
          .hasMessage(
              "the tensor was overwritten while it was read, and memory or quota did not suffice to preserve the old version; read it again");
    }
    assertThat(read(handle)).isEqualTo(bytes(2));
    assertThat(rig.store.bytes()).isEqualTo(TYPE.bytes());
    assertThat(device.openBuffers()).isEqualTo(1);
  }

  // -- waiting for locks

  private CompletableFuture<Void> replaceLater(String handle, RequestContext context) {
    return CompletableFuture.runAsync(
        () -> {
          try {
            replace(handle, new Client(bytes(2)), _ -> true, context);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        },
        clients);
  }

  private static Code code(CompletableFuture<?> answer) {
    var thrown = catchThrowableOfType(CompletionException.class, answer::join);
    return ((Failure) Objects.requireNonNull(thrown.getCause())).code();
  }

  /** Waits for a tensor lock can be canceled and are limited like the queue. */
  @Test
  void lockWaitsAreCancelableAndLimited() throws Exception {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var before = state();
    try (var pin = rig.store.of(Tenant.LOCAL).pin(handle, "handle")) {
      assertThat(pin.tryLock(Access.READ, 0)).isTrue();
      var gone = new AtomicBoolean();
      var leaving = new RequestContext(Tenant.LOCAL, Ticket.MIDDLE, Deadline.none(), gone::get);
      var waits = replaceLater(handle, leaving);
      await().until(() -> rig.pool.locks().waiting() == 1);
      assertThat(code(replaceLater(handle, CONTEXT))).isEqualTo(Code.QUEUE_FULL);
      gone.set(true);
      assertThat(code(waits)).isEqualTo(Code.CANCELLED);

      var atTheEnd = replaceLater(handle, CONTEXT);
      await().until(() -> rig.pool.locks().waiting() == 1);
      rig.pool.drain();
      assertThat(code(atTheEnd)).isEqualTo(Code.DRAINING);
    }
    assertThat(state()).isEqualTo(before);
  }

  /** Otherwise the holder of the lock could wait for that processor. */
  @Test
  void lockWaitsReleaseTheProcessor() throws Exception {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var processors = new ProcessorShares(1, TenantShares.UNLIMITED, System::nanoTime);
    var tensors = rig.store.of(Tenant.LOCAL);
    CompletableFuture<Void> writer;
    try (var pin = tensors.pin(handle, "handle")) {
      assertThat(pin.tryLock(Access.READ, 0)).isTrue();
      writer =
          CompletableFuture.runAsync(() -> {
            try (var _ = processors.open("writer");
                var own = tensors.pin(handle, "handle")) {
              ProcessorShares.acquire(1 << 20);
              rig.pool.locks().lock(own, Access.WRITE, CONTEXT);
            }
          });
      await().until(() -> rig.pool.locks().waiting() == 1);
      try (var _ = processors.open("reader")) {
        ProcessorShares.acquire(1 << 20);
      }
    }
    writer.join();
  }

  @Test
  void lostDeviceEndsLockWaits() throws Exception {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    try (var pin = rig.store.of(Tenant.LOCAL).pin(handle, "handle")) {
      assertThat(pin.tryLock(Access.READ, 0)).isTrue();
      var waits = replaceLater(handle, CONTEXT);
      await().until(() -> rig.pool.locks().waiting() == 1);
      rig.health.explain(0, new DeviceException.Lost("it fell off the bus"));
      assertThat(code(waits)).isEqualTo(Code.DEVICE_LOST);
    }
  }

  @Test
  void detectsVersionMismatchesAtTheEnd() throws IOException {
    var handle = create(new Client(bytes(1)), CONTEXT).handle();
    var client =
        new Client(
            bytes(2),
            Staging.LARGE + 1,
            () -> replace(handle, new Client(bytes(3)), _ -> true, CONTEXT));
    var failure =
        catchThrowableOfType(
            Failure.class, () -> replace(handle, client, version -> version == 1, CONTEXT));
    assertThat(failure.code()).isEqualTo(Code.VERSION_MISMATCH);
    assertThat(read(handle)).isEqualTo(bytes(3));
    assertThat(device.openBuffers()).isEqualTo(1);
  }
}
