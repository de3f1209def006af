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
import dev.athanor.engine.ptx.Warps;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Writes the texts of reports. */
record SanitizerMessages(
    LaunchGeometry geometry, VariableExtents variables, List<MemoryEffect> effects) {

  /** The description of a problem, and the remedy. */
  record Text(String what, String remedy) {}

  /** A report about an instruction of one thread. */
  Report of(
      Kind kind, long block, int thread, Instruction instruction, String what, String remedy) {
    return new Report(kind, geometry.of(block, thread, instruction), null, "", what, remedy, 1);
  }

  /** A report about the access of one lane. */
  Report of(Kind kind, Access access, int lane, Text text) {
    var effect = access.effect();
    var request = access.request();
    var bytes = bytes(request, lane);
    var place = geometry.of(access.block, Warps.thread(request.warp, lane), effect.instruction());
    return new Report(
        kind,
        place,
        null,
        bytes,
        lane(place) + " " + verb(effect, request.kind()) + " " + bytes + text.what(),
        text.remedy(),
        1);
  }

  /** An address outside of its variable. */
  Text beyond(VariableExtents.Extent extent, long offset, int bytes) {
    return new Text(
        ", through an address of %s that points to its bytes %d..%d of %d"
            .formatted(
                extent.name(),
                offset - extent.start(),
                offset - extent.start() + bytes - 1,
                extent.end() - extent.start()),
        "keep the index within " + extent.name());
  }

  /** Bytes of a heap block that was freed. */
  Text freed(DeviceHeap.Freed freed, long offset) {
    return new Text(
        ", byte %d of a block of %d bytes that %s has freed"
            .formatted(offset - freed.chunk().offset(), freed.chunk().bytes(), freed.freed()),
        "free it after its last use");
  }

  /**
   * Bytes outside of all heap blocks.
   *
   * @param before the last block that begins before them; null = none
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
   * Bytes that were never written.
   *
   * @param defined bit {@code i} is set if byte {@code i} was
   */
  Text undefined(long defined, int bytes) {
    int count = bytes - Long.bitCount(defined);
    return new Text(
        count == bytes
            ? ", which were never written"
            : ", of which %d were never written".formatted(count),
        "store, upload or fill them first");
  }

  /** Shared memory of a block that has ended. */
  Text ended(int rank) {
    return new Text(
        " of the block with rank %d, whose threads have all exited".formatted(rank),
        "barrier.cluster before that block exits would keep its shared memory");
  }

  /** A store over an mbarrier. */
  Text overMbarrier() {
    return new Text(
        ", which hold an mbarrier", "execute mbarrier.inval before the bytes are used otherwise");
  }

  /** A copy that no thread has waited for when its block ends. */
  Report unseen(long cluster, AsyncAccess copy, ObservedMbarrier barrier) {
    var of = geometry.inCluster(cluster, copy.thread, effects.get(copy.instruction).instruction());
    return new Report(
        Kind.COPY_LEFT_AT_EXIT,
        of,
        null,
        "",
        lane(of)
            + " issues a copy that no thread has waited for at "
            + barrier.name()
            + " when the block ends",
        "wait with mbarrier.try_wait before the end",
        1);
  }

  /** An mbarrier that expects other bytes than have arrived when its block ends. */
  Report bytesLeft(long cluster, MbarrierHistory.Origin made, ObservedMbarrier barrier) {
    var of =
        geometry.inCluster(cluster, made.thread(), effects.get(made.instruction()).instruction());
    return new Report(
        Kind.MBARRIER_BYTES,
        of,
        null,
        "",
        lane(of) + " makes an mbarrier; its state when the block ends: " + barrier,
        "announce as many bytes as arrive",
        1);
  }

  /** A copy or product that a thread has not waited for when it exits. */
  Report copyLeft(long cluster, int thread, int copy, MemoryEffect end) {
    var of = geometry.inCluster(cluster, thread, effects.get(copy).instruction());
    var last = geometry.inCluster(cluster, thread, end.instruction());
    var issued = effects.get(copy);
    boolean product = issued.kind() == MemoryEffect.Kind.PRODUCT;
    return new Report(
        product ? Kind.PRODUCT_LEFT_AT_EXIT : Kind.COPY_LEFT_AT_EXIT,
        of,
        last,
        "",
        "%s issues a %s that the thread has not waited for when it exits at %s"
            .formatted(lane(of), product ? "product" : "copy", last.source()),
        "wait with "
            + (product
                ? issued.isInTensorPipe()
                    ? "tcgen05.commit and mbarrier.try_wait"
                    : "wgmma.wait_group"
                : issued.isAsync() ? "cp.async.bulk.wait_group" : "cp.async.wait_all")
            + " before the exit",
        1);
  }

  /**
   * A product and an instruction that uses its registers.
   *
   * @param other the instruction that came first; -1 = none
   */
  Report registers(Kind kind, long block, int thread, int other, MemoryEffect effect) {
    var place = geometry.of(block, thread, effect.instruction());
    var first = other < 0 ? null : geometry.of(block, thread, effects.get(other).instruction());
    boolean early = kind == Kind.PRODUCT_NOT_AWAITED;
    var what =
        first == null
            ? "is the first product of the warp, with no wgmma.fence before it"
            : (early
                    ? "uses registers of the product \"%s\" at %s, which the warp has not waited for"
                    : "uses registers that \"%s\" at %s has used, with no wgmma.fence between the two")
                .formatted(first.instruction(), first.source());
    return new Report(
        kind,
        place,
        first,
        "",
        what,
        early
            ? "wait with wgmma.wait_group before it; ptxas inserts the wait, which serializes products"
            : "execute wgmma.fence before it",
        1);
  }

  /**
   * Two accesses that conflict.
   *
   * @param before the {@link AccessStamp} of the earlier one
   * @param cluster that made the earlier one
   * @param wrote whether the earlier one wrote
   */
  Report conflict(Kind kind, long before, long cluster, boolean wrote, Access access, int lane) {
    var effect = access.effect();
    var request = access.request();
    var earlier = effects.get(AccessStamp.instruction(before));
    var other = geometry.inCluster(cluster, AccessStamp.thread(before), earlier.instruction());
    var place = geometry.of(access.block, Warps.thread(request.warp, lane), effect.instruction());
    var bytes = bytes(request, lane);
    var what =
        "%s %s %s, which %s %s%s"
            .formatted(
                lane(place),
                verb(effect, request.kind()),
                bytes,
                brief(other, !other.block().equals(place.block())),
                earlierVerb(before, wrote, earlier),
                relation(kind, before));
    return new Report(
        kind,
        place,
        other,
        bytes,
        what,
        remedy(kind, AccessStamp.has(before, AccessStamp.COPY), earlier),
        1);
  }

  /**
   * An access that conflicts with one of an earlier launch.
   *
   * @param found the access of the earlier launch
   * @param other the texts of the earlier launch
   * @param last whether that is the previous launch
   * @param waited whether the thread has waited for the previous launch
   */
  Report previous(
      Access access,
      int lane,
      GlobalShadow.Recorded found,
      SanitizerMessages other,
      boolean last,
      boolean waited) {
    var effect = access.effect();
    var request = access.request();
    var earlier = other.effects.get(AccessStamp.instruction(found.stamp()));
    var there =
        other.geometry.inCluster(
            found.cluster(), AccessStamp.thread(found.stamp()), earlier.instruction());
    var place = geometry.of(access.block, Warps.thread(request.warp, lane), effect.instruction());
    var bytes = bytes(request, lane);
    var what =
        "%s %s %s, which kernel %s of %s launch %s (thread %s of block %s, \"%s\" at %s), %s"
            .formatted(
                lane(place),
                verb(effect, request.kind()),
                bytes,
                there.kernel(),
                last ? "the previous" : "an earlier",
                earlierVerb(found.stamp(), found.wrote(), earlier),
                there.thread(),
                there.block(),
                there.instruction(),
                there.source(),
                waited
                    ? "and the previous launch has not waited for that one"
                    : "before griddepcontrol.wait");
    return new Report(
        Kind.GRID_NOT_AWAITED,
        place,
        there,
        bytes,
        what,
        waited
            ? "execute griddepcontrol.wait in every dependent kernel"
            : "execute griddepcontrol.wait before this instruction",
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

  private static String verb(MemoryEffect effect, MemoryRequest.Kind kind) {
    if (effect.kind() == MemoryEffect.Kind.PRODUCT) {
      return "multiplies";
    }
    if (effect.reduces()) {
      return kind == MemoryRequest.Kind.LOAD ? "combines" : "combines with";
    }
    if (effect.kind() == MemoryEffect.Kind.COPY || effect.isAsync()) {
      return kind == MemoryRequest.Kind.LOAD ? "copies from" : "copies to";
    }
    return switch (kind) {
      case LOAD -> "reads";
      case STORE -> "writes";
      case ATOMIC -> "updates";
    };
  }

  private static String earlierVerb(long before, boolean wrote, MemoryEffect earlier) {
    if (earlier.isAsync()) {
      return verb(earlier, wrote ? MemoryRequest.Kind.STORE : MemoryRequest.Kind.LOAD);
    }
    if (AccessStamp.has(before, AccessStamp.COPY)) {
      return wrote ? "copies to" : "copies from";
    }
    return AccessStamp.has(before, AccessStamp.ATOMIC) ? "updates" : wrote ? "writes" : "reads";
  }

  private static String relation(Kind kind, long before) {
    if (AccessStamp.isAsync(before) && kind != Kind.READ_ONLY_WRITTEN) {
      return " asynchronously, and this thread does not know that it has finished";
    }
    return switch (kind) {
      case PROXY_FENCE -> ", with no proxy fence between the two";
      case LANES_COLLIDE -> " with another value at the same time";
      case COPY_NOT_AWAITED, COPY_SOURCE_WRITTEN, COPY_TARGET_WRITTEN ->
          " asynchronously, and no thread has waited for the copy";
      case READ_ONLY_WRITTEN -> " in the same launch";
      case NARROW_SCOPE -> ", and the scope of one does not include the other thread";
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
      case NARROW_SCOPE -> "give both a scope that includes the other thread, such as .gpu";
      case READ_ONLY_WRITTEN -> "read with ld.global without .nc";
      case COPY_NOT_AWAITED, COPY_SOURCE_WRITTEN, COPY_TARGET_WRITTEN ->
          wait + " before this instruction would order them";
      case PRODUCT_OPERAND_WRITTEN, PRODUCT_NOT_AWAITED ->
          earlier.isInTensorPipe()
              ? "tcgen05.commit to an mbarrier after the product, and mbarrier.try_wait before this"
                  + " instruction, would order them"
              : "wgmma.wait_group before this instruction, and a barrier if other threads issued"
                  + " the product, would order them";
      case PROXY_FENCE ->
          "the PTX memory model requires fence.proxy.async after the first access and before the barrier"
              + " that orders the two (PTX ISA 9.7.9.25.2, 9.7.15.4)";
      default -> "";
    };
  }

  /** Returns the instruction that waits for an asynchronous operation. */
  private static String wait(MemoryEffect earlier) {
    return !earlier.isAsync()
        ? "cp.async.wait_group"
        : earlier.instruction().modifiers().has("bulk_group")
            ? "cp.async.bulk.wait_group"
            : "mbarrier.try_wait for the phase that counts its bytes";
  }

  /** Returns the bytes that a lane accesses, with the name of their buffer or variable. */
  private String bytes(MemoryRequest request, int lane) {
    var memory = request.memory(lane);
    int bytes = request.bytes(lane);
    if (memory instanceof Allocation buffer) {
      return range(request.offsets[lane], bytes) + buffer;
    }
    long offset = request.offsets[lane];
    if (memory.isTensorMemory()) {
      return range(offset, bytes) + "tensor memory";
    }
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
