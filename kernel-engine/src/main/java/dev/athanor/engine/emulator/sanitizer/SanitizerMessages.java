package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.device.Report.Place;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.DeviceHeap;
import dev.athanor.engine.emulator.memory.VariableExtents;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What reports say. */
record SanitizerMessages(
    LaunchGeometry places, VariableExtents variables, List<MemoryEffect> roles) {

  /** What happened and what would put it right. */
  record Text(String what, String remedy) {}

  /** A finding about an instruction of one thread. */
  Report of(
      Kind kind, long block, int thread, Instruction instruction, String what, String remedy) {
    return new Report(kind, places.of(block, thread, instruction), null, "", what, remedy, 1);
  }

  /** A finding about what one lane touches. */
  Report of(
      Kind kind,
      long block,
      int thread,
      MemoryEffect role,
      Text text,
      MemoryRequest touch,
      int lane) {
    var bytes = bytes(touch, lane);
    var place = places.of(block, thread, role.instruction());
    return new Report(
        kind,
        place,
        null,
        bytes,
        lane(place) + " " + verb(role, touch.kind()) + " " + bytes + text.what(),
        text.remedy(),
        1);
  }

  /** An address that left its variable. */
  Text beyond(VariableExtents.Extent extent, long offset, int bytes) {
    return new Text(
        ", by an address of %s that is at its bytes %d..%d of %d"
            .formatted(
                extent.name(),
                offset - extent.start(),
                offset - extent.start() + bytes - 1,
                extent.end() - extent.start()),
        "keep the index within " + extent.name());
  }

  /** A block of the heap that was freed. */
  Text freed(DeviceHeap.Freed freed, long offset) {
    return new Text(
        ", byte %d of a block of %d bytes that %s has freed"
            .formatted(offset - freed.chunk().offset(), freed.chunk().bytes(), freed.freed()),
        "free it after its last use");
  }

  /**
   * Bytes of the heap that belong to no block.
   *
   * @param before the block that begins nearest before them; null = none
   */
  Text beyond(DeviceHeap.@Nullable Chunk before, long offset, int bytes) {
    return new Text(
        before == null
            ? ", which malloc has not returned"
            : ", bytes %d..%d of a block of %d bytes that %s has allocated"
                .formatted(
                    offset - before.offset(),
                    offset - before.offset() + bytes - 1,
                    before.bytes(),
                    before.allocated()),
        "keep the index within the block");
  }

  /**
   * Bytes that nobody has written.
   *
   * @param defined bit {@code i} tells whether byte {@code i} is
   */
  Text undefined(long defined, int bytes) {
    int count = bytes - Long.bitCount(defined);
    return new Text(
        count == bytes
            ? ", which nobody has written"
            : ", of which nobody has written %d".formatted(count),
        "store, upload or fill them before");
  }

  /** A block whose shared memory is used has ended. */
  Text ended(int rank) {
    return new Text(
        " of the block with rank %d, whose threads have all ended".formatted(rank),
        "barrier.cluster before the end of that block would keep its shared memory");
  }

  /** Something is stored where an mbarrier is. */
  Text overMbarrier() {
    return new Text(
        ", where an mbarrier is", "mbarrier.inval before would make them bytes like others");
  }

  /** Nobody has waited for a copy when its block ends. */
  Report unseen(long cluster, AsyncAccess copy, ObservedMbarrier barrier) {
    var of = places.inCluster(cluster, copy.thread, roles.get(copy.instruction).instruction());
    return new Report(
        Kind.COPY_LEFT_AT_EXIT,
        of,
        null,
        "",
        lane(of)
            + " starts a copy for which nobody has waited at "
            + barrier.name()
            + " when all have ended",
        "mbarrier.try_wait before the end would do so",
        1);
  }

  /** The bytes that an mbarrier has counted are not those announced, when its block ends. */
  Report bytesLeft(long cluster, MbarrierHistory made, ObservedMbarrier barrier) {
    var of = places.inCluster(cluster, made.maker, roles.get(made.instruction).instruction());
    return new Report(
        Kind.MBARRIER_BYTES,
        of,
        null,
        "",
        lane(of) + " makes what is at the end " + barrier,
        "announce as many bytes as come",
        1);
  }

  /** A thread ended while a copy of its was under way. */
  Report copyLeft(long cluster, int thread, int copy, MemoryEffect end) {
    var of = places.inCluster(cluster, thread, roles.get(copy).instruction());
    var last = places.inCluster(cluster, thread, end.instruction());
    var role = roles.get(copy);
    boolean product = role.kind() == MemoryEffect.Kind.PRODUCT;
    return new Report(
        product ? Kind.PRODUCT_LEFT_AT_EXIT : Kind.COPY_LEFT_AT_EXIT,
        of,
        last,
        "",
        "%s starts a %s that the thread has not waited for when it ends at %s"
            .formatted(lane(of), product ? "product" : "copy", last.source()),
        (product
                ? "wgmma.wait_group"
                : role.isInFlight() ? "cp.async.bulk.wait_group" : "cp.async.wait_all")
            + " before the end would do so",
        1);
  }

  /**
   * A product and an instruction that touches its registers.
   *
   * @param other the instruction that came first; -1 = none
   */
  Report registers(Kind kind, long block, int thread, int other, MemoryEffect role) {
    var place = places.of(block, thread, role.instruction());
    var first = other < 0 ? null : places.of(block, thread, roles.get(other).instruction());
    boolean early = kind == Kind.PRODUCT_NOT_AWAITED;
    var what =
        first == null
            ? "is a product before which the warp has executed no wgmma.fence"
            : (early
                    ? "touches registers of the product \"%s\" at %s that nobody has waited for"
                    : "uses registers that \"%s\" at %s has touched without wgmma.fence between")
                .formatted(first.instruction(), first.source());
    return new Report(
        kind,
        place,
        first,
        "",
        what,
        early ? "wgmma.wait_group before it would do so" : "wgmma.fence before it would do",
        1);
  }

  /** Two accesses in conflict. */
  Report conflict(
      Kind kind,
      long before,
      long cluster,
      boolean wrote,
      long block,
      MemoryEffect role,
      MemoryRequest touch,
      int lane) {
    var earlier = roles.get(AccessStamp.instruction(before));
    var other = places.inCluster(cluster, AccessStamp.thread(before), earlier.instruction());
    var place = places.of(block, 32 * touch.warp + lane, role.instruction());
    var bytes = bytes(touch, lane);
    var what =
        "%s %s %s, which %s %s%s"
            .formatted(
                lane(place),
                verb(role, touch.kind()),
                bytes,
                brief(other, !other.block().equals(place.block())),
                done(before, wrote, earlier),
                between(kind, before));
    return new Report(
        kind,
        place,
        other,
        bytes,
        what,
        remedy(kind, AccessStamp.has(before, AccessStamp.COPY), earlier),
        1);
  }

  private static String lane(Place place) {
    return "lane %d of warp %d".formatted(place.lane(), place.warp());
  }

  private static String brief(Place other, boolean elsewhere) {
    return "%s, thread %s of %s, \"%s\" at %s,"
        .formatted(
            lane(other),
            other.thread(),
            elsewhere ? "block " + other.block() : "the same block",
            other.instruction(),
            other.source());
  }

  private static String verb(MemoryEffect role, MemoryRequest.Kind kind) {
    if (role.kind() == MemoryEffect.Kind.PRODUCT) {
      return "multiplies";
    }
    if (role.combines()) {
      return kind == MemoryRequest.Kind.LOAD ? "combines" : "combines with";
    }
    if (role.kind() == MemoryEffect.Kind.COPY || role.isInFlight()) {
      return kind == MemoryRequest.Kind.LOAD ? "copies from" : "copies to";
    }
    return switch (kind) {
      case LOAD -> "reads";
      case STORE -> "writes";
      case ATOMIC -> "updates";
    };
  }

  private static String done(long before, boolean wrote, MemoryEffect earlier) {
    if (earlier.isInFlight()) {
      return verb(earlier, wrote ? MemoryRequest.Kind.STORE : MemoryRequest.Kind.LOAD);
    }
    if (AccessStamp.has(before, AccessStamp.COPY)) {
      return wrote ? "copies to" : "copies from";
    }
    return AccessStamp.has(before, AccessStamp.ATOMIC) ? "updates" : wrote ? "writes" : "reads";
  }

  private static String between(Kind kind, long before) {
    if (AccessStamp.isFlight(before) && kind != Kind.READ_ONLY_WRITTEN) {
      return " at a time of its own, of whose end this thread does not know";
    }
    return switch (kind) {
      case PROXY_FENCE -> " without a fence between for asynchronous copies and products";
      case LANES_COLLIDE -> " with another value at the same time";
      case COPY_NOT_AWAITED, COPY_SOURCE_WRITTEN, COPY_TARGET_WRITTEN ->
          " at a time of its own, since nobody has waited for the copy";
      case READ_ONLY_WRITTEN -> " in the same launch";
      case NARROW_SCOPE -> ", and the scope of one leaves out the other's thread";
      default -> ", and nothing orders the two";
    };
  }

  private static String remedy(Kind kind, boolean copy, MemoryEffect earlier) {
    var after = copy ? " after cp.async.wait_group" : " between the two";
    var wait = wait(earlier);
    return switch (kind) {
      case LANES_COLLIDE -> "let one lane write, or use an atomic instruction";
      case RACE_IN_WARP -> "bar.warp.sync%s would order them".formatted(after);
      case RACE_IN_BLOCK -> "a barrier of the block%s would order them".formatted(after);
      case RACE_IN_CLUSTER -> "barrier.cluster%s would order them".formatted(after);
      case RACE_IN_GRID ->
          "atomic instructions, or a release after the one and an acquire before the other at .gpu"
              + " scope, would order them";
      case ATOMIC_AND_PLAIN -> "make both atomic, or put a barrier between them";
      case NARROW_SCOPE -> "give both a scope that has the other's thread in it, .gpu for instance";
      case READ_ONLY_WRITTEN -> "read with ld.global without .nc";
      case COPY_NOT_AWAITED, COPY_SOURCE_WRITTEN, COPY_TARGET_WRITTEN ->
          wait + " before this instruction would order them";
      case PRODUCT_OPERAND_WRITTEN ->
          "wgmma.wait_group before this instruction, and a barrier if it is of other threads, would"
              + " order them";
      case PROXY_FENCE ->
          "the PTX memory model requires fence.proxy.async after the one and before the barrier that"
              + " orders the two (PTX ISA 9.7.9.25.2, 9.7.15.4)";
      default -> "";
    };
  }

  /** What waits for something that goes on beside the threads. */
  private static String wait(MemoryEffect earlier) {
    return !earlier.isInFlight()
        ? "cp.async.wait_group"
        : earlier.instruction().modifiers().has("bulk_group")
            ? "cp.async.bulk.wait_group"
            : "mbarrier.try_wait for the phase that counts its bytes";
  }

  /** The bytes that a lane touches, by the name of what they lie in. */
  private String bytes(MemoryRequest touch, int lane) {
    var memory = touch.memory(lane);
    int bytes = touch.bytes(lane);
    if (memory instanceof Allocation buffer) {
      return range(touch.offsets[lane], bytes) + buffer;
    }
    long offset = touch.offsets[lane];
    if (memory.space() == Space.LOCAL) {
      return "bytes of the thread's local memory";
    }
    var variable = variables.at(memory.space(), offset);
    return variable == null
        ? range(offset, bytes)
            + (memory.space() == Space.CONST
                ? "constants"
                : memory.space().name().toLowerCase(Locale.ROOT) + " memory")
        : range(offset - variable.start(), bytes) + variable.name();
  }

  private static String range(long first, int bytes) {
    return bytes == 1
        ? "byte %d of ".formatted(first)
        : "bytes %d..%d of ".formatted(first, first + bytes - 1);
  }
}
