package dev.athanor.service.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Input;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests resident tensors with many concurrent clients. The seed, which -Dathanor.seed=N sets,
 * determines the actions of each client but not their interleaving.
 */
class ResidentTensorsTest {

  private static final long SEED = TestTier.seed();
  private static final Op IDENTITY = new TestOps.Identity();
  private static final int CLIENTS = 24;
  private static final int ACTIONS = 150;
  private static final int SLOTS = 5;
  private static final int LONGS = 4096;
  private static final TensorType TYPE = TensorType.of(DType.I64, LONGS);
  private static final Duration LEASE = Duration.ofMinutes(5);
  private static final List<Tenant> TENANTS = List.of(new Tenant("a"), new Tenant("b"));

  /** Errors that concurrent deletions, writes and expirations may cause. */
  private static final Set<Code> EXPECTED =
      EnumSet.of(
          Code.UNKNOWN_HANDLE,
          Code.EXPIRED_HANDLE,
          Code.VERSION_MISMATCH,
          Code.HANDLE_IN_USE,
          Code.QUOTA_EXCEEDED,
          Code.OUT_OF_DEVICE_MEMORY,
          Code.DEADLINE_EXCEEDED,
          Code.CANCELLED);

  @TempDir Path folder;
  private final FakeDevice device = new FakeDevice();

  @BeforeAll
  static void printSeed() {
    System.out.println("athanor.seed=" + SEED);
  }

  @AfterEach
  void zeroesFreedMemory() {
    assertThat(device.wasFreedDirty()).isFalse();
    assertThat(device.heldCarrier()).as("virtual threads wait for the device").isFalse();
  }

  private Rig rig(int streams) {
    return rig(device, streams, 0);
  }

  private Rig rig(FakeDevice device, int streams, long spillBytes) {
    var planner = new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json")));
    return new Rig(
        device,
        planner,
        streams,
        1000,
        new TensorSettings(
            TYPE.bytes() * 2L * SLOTS, 100, LEASE, spillBytes, Duration.ofMinutes(10)));
  }

  /** Returns a tensor of equal elements, so that torn reads are detected. */
  private static HostTensor all(long stamp) {
    var tensor = HostTensor.zeros(TYPE);
    for (int i = 0; i < LONGS; i++) {
      tensor.data().setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, i, stamp);
    }
    return tensor;
  }

  private static long stamp(MemorySegment data) {
    long first = data.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    for (long at = 8; at < data.byteSize(); at += 8) {
      assertThat(data.get(ValueLayout.JAVA_LONG_UNALIGNED, at)).as("byte %d", at).isEqualTo(first);
    }
    return first;
  }

  @Test
  void readsSeeOneVersion() throws Exception {
    readsSeeOneVersion(device, 0);
    assertThat(device.hostMemoriesEver(TYPE.bytes())).isZero();
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void readsSeeOneVersionWithSpilling() throws Exception {
    var small = new FakeDevice(0, TYPE.bytes() * SLOTS);
    readsSeeOneVersion(small, TYPE.bytes() * SLOTS);
    assertThat(small.hostMemoriesEver(TYPE.bytes())).as("spilled tensors").isPositive();
    assertThat(small.openHostMemories()).isZero();
    assertThat(small.wasFreedDirty()).isFalse();
  }

  private void readsSeeOneVersion(FakeDevice device, long spillBytes) throws Exception {
    try (var rig = rig(device, 4, spillBytes);
        var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      var shared = new Clients(rig);
      var done = new ArrayList<Future<?>>();
      for (int i = 0; i < CLIENTS; i++) {
        var random = new Random(SEED + i);
        done.add(
            clients.submit(() -> {
              for (int action = 0; action < ACTIONS; action++) {
                shared.act(random);
              }
            }));
      }
      for (var one : done) {
        one.get();
      }
      assertThat(shared.counts.keySet())
          .as(
              "-Dathanor.seed=%d: all actions and expected errors occurred: %s",
              SEED, shared.counts)
          .contains("create", "read", "run", "keep", "put", "into", "delete", "expire")
          .contains("UNKNOWN_HANDLE", "EXPIRED_HANDLE", "DEADLINE_EXCEEDED");
      for (var tenant : TENANTS) {
        var tensors = rig.store.of(tenant);
        tensors.list(1000, null, null).tensors().forEach(info -> tensors.delete(info.handle()));
      }
      rig.store.sweep();
      await()
          .pollInterval(Duration.ofMillis(2))
          .untilAsserted(() -> assertThat(device.openBuffers()).isZero());
      assertThat(device.memory().used()).isZero();
      assertThat(rig.store.count()).isZero();
      assertThat(rig.store.bytes()).isZero();
    }
  }

  /** A request over quota expires leases of its own tenant only. */
  @Test
  void quotaCheckSweepsItsOwnTenantOnly() {
    try (var rig = rig(1)) {
      for (var tenant : TENANTS) {
        rig.create(all(1), TensorOptions.NONE, new RequestContext(tenant, Deadline.none()));
      }
      rig.clock.advance(LEASE);
      var own = rig.store.of(TENANTS.getFirst());
      long quota = TYPE.bytes() * 2L * SLOTS;
      assertThatThrownBy(() -> own.charge(quota + 1)).isInstanceOf(Failure.Busy.class);
      assertThat(rig.store.count()).as("tensors of the other tenant").isEqualTo(1);
      own.charge(quota).close();
      rig.store.sweep();
      assertThat(rig.store.count()).isZero();
      var later =
          rig.create(
              all(1), TensorOptions.NONE, new RequestContext(TENANTS.getFirst(), Deadline.none()));
      own.renew(later.handle(), Duration.ofSeconds(1));
      rig.clock.advance(Duration.ofSeconds(1));
      rig.store.sweep();
      assertThat(rig.store.count()).as("tensors after shortening the lease").isZero();
    }
  }

  /** Clients of two tenants that share a few tensors. */
  private static final class Clients {
    private record Slot(Tenant tenant, String handle) {}

    private record Version(String handle, long number) {}

    private final Rig rig;
    private final AtomicReferenceArray<Slot> slots = new AtomicReferenceArray<>(SLOTS);
    private final AtomicLong stamps = new AtomicLong();

    /** The observed contents of each version of a tensor. */
    private final Map<Version, Long> contents = new ConcurrentHashMap<>();

    /** The highest version of each tensor that a client has observed. */
    private final Map<String, Long> highest = new ConcurrentHashMap<>();

    final Map<String, Integer> counts = new ConcurrentSkipListMap<>();

    Clients(Rig rig) {
      this.rig = rig;
    }

    void act(Random random) {
      int at = random.nextInt(SLOTS);
      var slot = slots.get(at);
      var tenant = slot == null ? TENANTS.get(random.nextInt(2)) : slot.tenant;
      var context =
          switch (random.nextInt(12)) {
            case 0 -> new RequestContext(tenant, Deadline.in(1));
            case 1 -> new RequestContext(tenant, Deadline.in(60_000));
            case 2 -> new RequestContext(tenant, 3, Deadline.none(), () -> true);
            default -> new RequestContext(tenant, Deadline.none());
          };
      var other = slots.get(random.nextInt(SLOTS));
      int what = random.nextInt(100);
      try {
        if (slot == null) {
          create(at, context);
        } else if (what < 25) {
          read(slot, context, random);
        } else if (what < 45) {
          run(slot, context);
        } else if (what < 60) {
          put(slot, context, random.nextBoolean());
        } else if (what < 75 && other != null) {
          into(slot, other, context);
        } else if (what < 83) {
          keep(slot, context);
        } else if (what < 97) {
          delete(at, slot);
        } else {
          expire();
        }
      } catch (Failure e) {
        assertThat(EXPECTED).as(e.getMessage()).contains(e.code());
        count(e.code().name());
        if (slot != null && !rig.store.lives(slot.handle)) {
          slots.compareAndSet(at, slot, null);
        }
      }
    }

    private void create(int at, RequestContext context) {
      long stamp = stamps.incrementAndGet();
      var info = rig.create(all(stamp), TensorOptions.NONE, context);
      observed(info, stamp, 0);
      if (!slots.compareAndSet(at, null, new Slot(context.tenant(), info.handle()))) {
        rig.store.of(context.tenant()).delete(info.handle()); // another client was first
      }
      count("create");
    }

    private void read(Slot slot, RequestContext context, Random random) {
      long before = known(slot);
      try (var reader = rig.transfers.open(slot.handle, context)) {
        int piece = 8 * (LONGS / (1 + random.nextInt(4)));
        var whole = MemorySegment.ofArray(new byte[(int) TYPE.bytes()]);
        for (long offset = 0; offset < TYPE.bytes(); offset += piece) {
          int length = (int) Math.min(piece, TYPE.bytes() - offset);
          whole.asSlice(offset, length).copyFrom(reader.read(offset, length));
        }
        observed(reader.info(), stamp(whole), before);
      }
      count("read");
    }

    private Result run(Slot slot, Map<String, Target> outputs, RequestContext context) {
      var inputs = Map.<String, Input>of("x", new Input.Resident(slot.handle));
      return rig.runner.run(new Call(IDENTITY, inputs, Map.of(), outputs, context));
    }

    private static Result.Output output(Result result) {
      return Objects.requireNonNull(result.outputs().get("y"));
    }

    private void run(Slot slot, RequestContext context) {
      var output = (Result.Output.Inline) output(run(slot, Map.of(), context));
      assertThat(stamp(output.tensor().data())).isBetween(1L, stamps.get());
      count("run");
    }

    private void put(Slot slot, RequestContext context, boolean guarded) {
      long before = known(slot);
      long stamp = stamps.incrementAndGet();
      var info =
          rig.replace(slot.handle, all(stamp), version -> !guarded || version == before, context);
      if (guarded) {
        assertThat(info.version()).isEqualTo(before + 1);
      }
      observed(info, stamp, before + 1);
      count("put");
    }

    private void into(Slot source, Slot target, RequestContext context) {
      long before = known(target);
      var into = Map.of("y", new Target(new Destination.Into(target.handle), null));
      var output = (Result.Output.Resident) output(run(source, into, context));
      assertThat(output.info().version()).isGreaterThan(before);
      highest.merge(target.handle, output.info().version(), Math::max);
      count("into");
    }

    private void keep(Slot slot, RequestContext context) {
      var kept = Map.of("y", new Target(new Destination.Keep(), null));
      var info = ((Result.Output.Resident) output(run(slot, kept, context))).info();
      try (var reader =
          rig.transfers.open(info.handle(), new RequestContext(slot.tenant, Deadline.none()))) {
        observed(info, stamp(reader.read(0, (int) TYPE.bytes())), 1);
      } finally {
        rig.store.of(slot.tenant).delete(info.handle());
      }
      count("keep");
    }

    private void delete(int at, Slot slot) {
      rig.store.of(slot.tenant).delete(slot.handle);
      slots.compareAndSet(at, slot, null);
      count("delete");
    }

    private void expire() {
      rig.clock.advance(LEASE);
      rig.store.sweep();
      count("expire");
    }

    private long known(Slot slot) {
      return highest.getOrDefault(slot.handle, 0L);
    }

    private void observed(TensorInfo info, long stamp, long minimum) {
      assertThat(info.version()).as("versions only grow").isGreaterThanOrEqualTo(minimum);
      highest.merge(info.handle(), info.version(), Math::max);
      var earlier = contents.putIfAbsent(new Version(info.handle(), info.version()), stamp);
      assertThat(earlier == null || earlier == stamp)
          .as("%s held %d and %d", info, earlier, stamp)
          .isTrue();
    }

    private void count(String what) {
      counts.merge(what, 1, Integer::sum);
    }
  }

  @Test
  void memoryIsZeroedBetweenTenants() {
    try (var rig = rig(1)) {
      var a = new RequestContext(TENANTS.getFirst(), Deadline.none());
      var secret = rig.create(all(0x5ec4e7), TensorOptions.NONE, a);
      var call =
          new Call(
              IDENTITY, Map.of("x", new Input.Resident(secret.handle())), Map.of(), Map.of(), a);
      rig.runner.run(call); // leaves a copy on the device, too
      rig.store.of(a.tenant()).delete(secret.handle());
      assertThat(device.openBuffers()).isZero();
      for (int i = 0; i < 2; i++) {
        var buffer = rig.memory.allocate(TYPE.bytes());
        var contents = MemorySegment.ofArray(new byte[(int) TYPE.bytes()]);
        try (var stream = device.openStream()) {
          stream.download(buffer, 0, contents);
          stream.synchronize();
        }
        assertThat(stamp(contents)).as("contents of reused memory").isZero();
      }
      rig.store.sweep();
    }
  }
}
