package dev.athanor.service.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.TestClock;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Compares random histories of a store with a simple model of its contract. A failure reports the
 * seed; -Dathanor.seed=N repeats it.
 */
class TensorStoreModelTest {

  private static final long SEED = TestTier.seed();
  private static final int HISTORIES = 150;
  private static final int EVENTS = 400;

  @BeforeAll
  static void printSeed() {
    System.out.println("athanor.seed=" + SEED);
  }

  @Test
  void randomHistories() {
    var kinds = new TreeMap<String, Integer>();
    for (int i = 0; i < HISTORIES; i++) {
      var past = new ArrayList<String>();
      try {
        new Simulation(new Random(SEED + i), past, kinds).run();
      } catch (AssertionError | RuntimeException e) {
        int from = Math.max(0, past.size() - 40);
        throw new AssertionError(
            "-Dathanor.seed=%d, event %d of:%n%s%n%s"
                .formatted(
                    SEED + i,
                    past.size(),
                    String.join("\n", past.subList(from, past.size())),
                    e.getMessage()),
            e);
      }
    }
    assertThat(kinds.keySet())
        .as("all kinds of events and errors occurred: %s", kinds)
        .contains("charge", "charge QUOTA_EXCEEDED", "resize", "resize QUOTA_EXCEEDED")
        .contains("add", "add never", "pin", "pin UNKNOWN_HANDLE", "pin EXPIRED_HANDLE")
        .contains("again", "unpin", "unpin last", "write", "delete", "delete UNKNOWN_HANDLE")
        .contains("delete again", "renew", "renew EXPIRED_HANDLE", "scope", "list")
        .contains("list UNKNOWN_HANDLE", "sweep", "foreign");
  }

  /** Memory that records that it was freed. */
  static final class Memory implements Buffer {
    final long bytes;
    boolean freed;

    Memory(long bytes) {
      this.bytes = bytes;
    }

    @Override
    public long address() {
      return 256;
    }

    @Override
    public long bytes() {
      return bytes;
    }

    @Override
    public void close() {
      assertThat(freed).as("already freed").isFalse();
      freed = true;
    }
  }

  /** The device of all tensors. */
  static final DeviceStorage DEVICE =
      new DeviceStorage() {
        @Override
        public int number() {
          return 0;
        }

        @Override
        public String id() {
          return "fake:0";
        }

        @Override
        public boolean isLost() {
          return false;
        }

        @Override
        public void read(Buffer buffer, MemorySegment target) {
          throw new AssertionError("unexpected read");
        }

        @Override
        public long free() {
          return Long.MAX_VALUE;
        }

        @Override
        public HostMemory save(Buffer buffer) {
          throw new AssertionError("the device is never full");
        }

        @Override
        public Buffer restore(HostMemory saved) {
          throw new AssertionError("nothing was saved");
        }

        @Override
        public void free(Buffer buffer) {
          buffer.close();
        }
      };

  /** A tensor in the model. */
  private static final class ModelTensor {
    final int owner;
    final String handle;
    final @Nullable String scope;
    final Memory memory;
    final Instant createdAt;
    final List<Pin> pins = new ArrayList<>();
    Duration lease;
    Instant lastUse;
    long version = 1;
    @Nullable Instant deletedAt;

    /** True if a sweep or a deletion found the tensor expired. */
    boolean swept;

    ModelTensor(int owner, TensorInfo info, Memory memory, Duration lease, Instant now) {
      this.owner = owner;
      this.handle = info.handle();
      this.scope = info.scope();
      this.memory = memory;
      this.lease = lease;
      createdAt = now;
      lastUse = now;
    }

    boolean expired(Instant now) {
      return deletedAt == null
          && pins.isEmpty()
          && !lease.isZero()
          && !lastUse.plus(lease).isAfter(now);
    }

    boolean isLive(Instant now) {
      return deletedAt == null && !expired(now);
    }

    boolean freed() {
      return swept || (deletedAt != null && pins.isEmpty());
    }

    Instant end() {
      return deletedAt != null ? deletedAt : lastUse.plus(lease);
    }

    TensorInfo info() {
      return new TensorInfo(
          handle,
          null,
          null,
          scope,
          TensorType.of(DType.U8, memory.bytes),
          DEVICE.id(),
          version,
          createdAt,
          lease.isZero() ? null : lastUse.plus(lease));
    }
  }

  private record Open(int owner, TenantTensors.Charge charge, long bytes) {}

  /** A simulation of one store. */
  private static final class Simulation {
    private static final int TENANTS = 3;

    private final Random random;
    private final List<String> past;
    private final Map<String, Integer> kinds;
    private final TestClock clock = new TestClock();
    private final TensorSettings settings;
    private final TensorStore store;
    private final List<TenantTensors> tenants = new ArrayList<>();
    private final List<ModelTensor> all = new ArrayList<>();
    private final List<Open> charges = new ArrayList<>();

    Simulation(Random random, List<String> past, Map<String, Integer> kinds) {
      this.random = random;
      this.past = past;
      this.kinds = kinds;
      settings =
          new TensorSettings(
              between(30, 200),
              between(2, 12),
              seconds(between(5, 20)),
              0,
              seconds(between(1, 15)));
      store = new TensorStore(new Handles(""), settings, clock);
      for (int i = 0; i < TENANTS; i++) {
        tenants.add(store.of(new Tenant("tenant" + i)));
      }
      past.add(settings.toString());
    }

    void run() {
      for (int i = 0; i < EVENTS; i++) {
        if (random.nextInt(3) == 0) {
          clock.advance(Duration.ofMillis(between(0, 3000)));
        }
        event();
        check();
      }
      for (var open : List.copyOf(charges)) {
        closeCharge(open);
      }
      all.forEach(known -> known.pins.forEach(Pin::close));
      for (int i = 0; i < TENANTS; i++) {
        for (var scope : List.of("s0", "s1")) {
          tenants.get(i).deleteScope(scope);
        }
        for (var info : tenants.get(i).list(1000, null, null).tensors()) {
          tenants.get(i).delete(info.handle());
        }
      }
      store.sweep();
      assertThat(store.count()).isZero();
      assertThat(store.bytes()).isZero();
      assertThat(all).allMatch(known -> known.memory.freed);
    }

    private void event() {
      switch (random.nextInt(13)) {
        case 0, 1 -> charge();
        case 2, 3 -> add();
        case 4 -> resizeOrClose();
        case 5, 6 -> pin();
        case 7, 8 -> unpin();
        case 9 -> write();
        case 10 -> delete();
        case 11 -> list();
        default -> {
          switch (random.nextInt(5)) {
            case 0 -> deleteScope();
            case 1 -> sweep();
            default -> renew();
          }
        }
      }
    }

    // -- events

    private void charge() {
      int owner = random.nextInt(TENANTS);
      long bytes = between(0, 60);
      boolean fits = fits(owner, bytes, 1);
      var charge =
          refused(
              "charge", fits ? null : Code.QUOTA_EXCEEDED, () -> tenants.get(owner).charge(bytes));
      charge.ifPresent(taken -> charges.add(new Open(owner, taken, bytes)));
    }

    private void add() {
      if (charges.isEmpty()) {
        return;
      }
      var open = charges.get(random.nextInt(charges.size()));
      if (open.bytes == 0) {
        return; // tensors have at least one byte
      }
      charges.remove(open);
      var memory = new Memory(open.bytes);
      var scope = random.nextBoolean() ? "s" + random.nextInt(2) : null;
      var lease = random.nextInt(3) == 0 ? null : seconds(between(0, 12));
      var type = TensorType.of(DType.U8, open.bytes);
      var info = open.charge.add(type, DEVICE, memory, new TensorOptions(null, scope, lease, null));
      open.charge.close(); // no effect
      var known =
          new ModelTensor(
              open.owner, info, memory, lease == null ? settings.lease() : lease, clock.instant());
      assertThat(info).isEqualTo(known.info());
      all.add(known);
      count("add");
      if (info.expiresAt() == null) {
        count("add never");
      }
    }

    private void resizeOrClose() {
      if (charges.isEmpty()) {
        return;
      }
      var open = charges.get(random.nextInt(charges.size()));
      if (random.nextBoolean()) {
        closeCharge(open);
        return;
      }
      long bytes = between(0, 100);
      boolean fits = fits(open.owner, bytes - open.bytes, 0);
      var done =
          refused(
              "resize",
              fits ? null : Code.QUOTA_EXCEEDED,
              () -> {
                open.charge.resize(bytes);
                return bytes;
              });
      if (done.isPresent()) {
        charges.remove(open);
        charges.add(new Open(open.owner, open.charge, bytes));
      }
    }

    private void closeCharge(Open open) {
      charges.remove(open);
      open.charge.close();
      open.charge.close();
    }

    private void pin() {
      var known = any();
      if (known == null) {
        return;
      }
      if (!known.pins.isEmpty() && random.nextInt(3) == 0) {
        known.pins.add(known.pins.getFirst().again());
        count("again");
        return;
      }
      foreign(known);
      var pin =
          refused(
              "pin", missing(known), () -> tenants.get(known.owner).pin(known.handle, "handle"));
      pin.ifPresent(held -> {
        known.pins.add(held);
        known.lastUse = clock.instant();
        assertThat(held.info()).isEqualTo(known.info());
      });
    }

    private void unpin() {
      var pinned = all.stream().filter(known -> !known.pins.isEmpty()).toList();
      if (!pinned.isEmpty()) {
        var known = pinned.get(random.nextInt(pinned.size()));
        var pin = known.pins.remove(random.nextInt(known.pins.size()));
        assertThat(pin.tensor().buffer()).isSameAs(known.memory);
        known.lastUse = clock.instant();
        pin.close();
        pin.close(); // no effect
        count(known.freed() ? "unpin last" : "unpin");
      }
    }

    private void write() {
      var pinned = all.stream().filter(known -> !known.pins.isEmpty()).toList();
      if (!pinned.isEmpty()) {
        var known = pinned.get(random.nextInt(pinned.size()));
        known.version++;
        assertThat(known.pins.getLast().written()).isEqualTo(known.info());
        count("write");
      }
    }

    private void delete() {
      var known = any();
      if (known == null) {
        return;
      }
      foreign(known);
      var now = clock.instant();
      boolean there = known.deletedAt == null && !known.swept;
      boolean again = !there && isRemembered(known);
      var done =
          refused(
              again ? "delete again" : "delete",
              there || again ? null : Code.UNKNOWN_HANDLE,
              () -> {
                tenants.get(known.owner).delete(known.handle);
                return now;
              });
      if (done.isPresent()) {
        remove(known, now);
      }
    }

    private void deleteScope() {
      int owner = random.nextInt(TENANTS);
      var scope = "s" + random.nextInt(2);
      tenants.get(owner).deleteScope(scope);
      var now = clock.instant();
      all.stream()
          .filter(known -> known.owner == owner && scope.equals(known.scope))
          .forEach(known -> remove(known, now));
      count("scope");
    }

    private static void remove(ModelTensor known, Instant now) {
      if (known.expired(now)) {
        known.swept = true;
      } else if (known.deletedAt == null) {
        known.deletedAt = now;
      }
    }

    private void renew() {
      var known = any();
      if (known == null) {
        return;
      }
      var lease = seconds(between(0, 12));
      var info =
          refused(
              "renew", missing(known), () -> tenants.get(known.owner).renew(known.handle, lease));
      info.ifPresent(renewed -> {
        known.lease = lease;
        known.lastUse = clock.instant();
        assertThat(renewed).isEqualTo(known.info());
      });
    }

    private void sweep() {
      store.sweep();
      for (int owner = 0; owner < TENANTS; owner++) {
        swept(owner);
      }
      count("sweep");
    }

    private void swept(int owner) {
      var now = clock.instant();
      all.stream()
          .filter(known -> known.owner == owner && known.expired(now))
          .forEach(known -> known.swept = true);
    }

    /** Lists all pages, or the pages after a tensor, which may be deleted. */
    private void list() {
      int owner = random.nextInt(TENANTS);
      var scope = random.nextBoolean() ? "s" + random.nextInt(2) : null;
      int limit = between(1, 4);
      var now = clock.instant();
      var after = random.nextBoolean() ? any() : null;
      if (after != null) {
        boolean there = after.deletedAt == null && !after.swept;
        boolean mine = after.owner == owner && (there || isRemembered(after));
        if (!mine) {
          refused(
              "list",
              Code.UNKNOWN_HANDLE,
              () -> tenants.get(owner).list(limit, after.handle, scope));
          return;
        }
      }
      var expected = new ArrayList<TensorInfo>();
      int from = after == null ? all.size() : all.indexOf(after);
      for (var known : all.subList(0, from).reversed()) {
        if (known.owner == owner
            && known.isLive(now)
            && (scope == null || scope.equals(known.scope))) {
          expected.add(known.info());
        }
      }
      var got = new ArrayList<TensorInfo>();
      var next = after == null ? null : after.handle;
      do {
        var page = tenants.get(owner).list(limit, next, scope);
        got.addAll(page.tensors());
        next = page.next();
        assertThat(page.tensors()).hasSizeLessThanOrEqualTo(limit);
        assertThat(next == null || page.tensors().size() == limit).isTrue();
      } while (next != null);
      assertThat(got).isEqualTo(expected);
      count("list");
    }

    // -- the model

    private boolean fits(int owner, long bytes, int count) {
      if (exceeds(owner, bytes, count)) {
        swept(owner); // the store sweeps before it rejects
      }
      return !exceeds(owner, bytes, count);
    }

    private boolean exceeds(int owner, long bytes, int count) {
      return bytes > settings.maxBytes() - chargedBytes(owner)
          || count > settings.maxCount() - charged(owner);
    }

    private long chargedBytes(int owner) {
      return all.stream()
              .filter(known -> known.owner == owner && !known.freed())
              .mapToLong(known -> known.memory.bytes)
              .sum()
          + charges.stream().filter(open -> open.owner == owner).mapToLong(Open::bytes).sum();
    }

    private int charged(int owner) {
      return (int)
          (all.stream().filter(known -> known.owner == owner && !known.freed()).count()
              + charges.stream().filter(open -> open.owner == owner).count());
    }

    private boolean isRemembered(ModelTensor known) {
      return known.end().plus(settings.tombstoneTtl()).isAfter(clock.instant());
    }

    /** Returns why a tensor is not available; null if it is. */
    private @Nullable Code missing(ModelTensor known) {
      if (known.isLive(clock.instant())) {
        return null;
      }
      return known.deletedAt == null && isRemembered(known)
          ? Code.EXPIRED_HANDLE
          : Code.UNKNOWN_HANDLE;
    }

    /** Checks that a tensor is unknown to other tenants. */
    private void foreign(ModelTensor known) {
      var other = tenants.get((known.owner + 1) % TENANTS);
      for (Runnable attempt :
          List.<Runnable>of(
              () -> other.pin(known.handle, "handle"),
              () -> other.describe(known.handle),
              () -> other.renew(known.handle, Duration.ZERO),
              () -> other.delete(known.handle))) {
        refused(
            "foreign",
            Code.UNKNOWN_HANDLE,
            () -> {
              attempt.run();
              return true;
            });
      }
    }

    private void check() {
      var now = clock.instant();
      for (int i = 0; i < TENANTS; i++) {
        assertThat(tenants.get(i).quota().bytes())
            .isEqualTo(chargedBytes(i))
            .isLessThanOrEqualTo(settings.maxBytes());
        assertThat(tenants.get(i).quota().count())
            .isEqualTo(charged(i))
            .isLessThanOrEqualTo(settings.maxCount());
      }
      for (var known : all) {
        assertThat(known.memory.freed).as(known.handle).isEqualTo(known.freed());
      }
      var known = any();
      if (known != null) {
        assertThat(store.lives(known.handle)).isEqualTo(known.isLive(now));
        var info =
            refused(
                "describe", missing(known), () -> tenants.get(known.owner).describe(known.handle));
        info.ifPresent(described -> assertThat(described).isEqualTo(known.info()));
      }
    }

    // -- helpers

    private <T> Optional<T> refused(
        String event, @Nullable Code expected, java.util.function.Supplier<T> action) {
      Code got = null;
      var result = Optional.<T>empty();
      try {
        result = Optional.of(action.get());
      } catch (Failure e) {
        got = e.code();
      }
      count(got == null ? event : event + " " + got);
      if (event.equals("foreign")) {
        count(event);
      }
      assertThat(got).as(event).isEqualTo(expected);
      return result;
    }

    /** Returns a random tensor, usually a recent one. */
    private @Nullable ModelTensor any() {
      int from = random.nextInt(5) == 0 ? 0 : Math.max(0, all.size() - 15);
      return all.isEmpty() ? null : all.get(between(from, all.size() - 1));
    }

    private void count(String kind) {
      kinds.merge(kind, 1, Integer::sum);
      past.add(clock.instant() + " " + kind);
    }

    private int between(int min, int max) {
      return random.nextInt(min, max + 1);
    }

    private static Duration seconds(long n) {
      return Duration.ofSeconds(n);
    }
  }
}
