package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.VariableExtents;
import dev.athanor.engine.emulator.sanitizer.clocks.ProxyMemory;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.FenceKind;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The effect of an instruction in the memory model (PTX ISA 8).
 *
 * @param strength {@link AccessStamp#WEAK}, or the scope of a strong operation
 * @param mark the part of its {@link AccessStamp}s that all executions share
 * @param but the number of a thread's newest groups that a wait leaves pending, or {@link
 *     #ALL_COPIES}
 * @param extent the extent of the variable that its address is based on; null = unknown
 */
public record MemoryEffect(
    Kind kind,
    Instruction instruction,
    int number,
    int strength,
    boolean acquires,
    boolean releases,
    long mark,
    int but,
    VariableExtents.@Nullable Extent extent) {

  /** Waits for all copies, those without a group included. */
  static final int ALL_COPIES = -1;

  /** The kinds of effects that the sanitizer distinguishes. */
  enum Kind {
    OTHER,
    ACCESS,
    COPY,
    COMMIT,
    WAIT,
    FENCE,
    CLUSTER_ARRIVE,
    /** Uses an mbarrier. */
    MBARRIER,
    /** Issues a bulk copy, a tensor copy or {@code st.async}. */
    ASYNC,
    /** Issues a product of a warpgroup. */
    PRODUCT,
    /** Orders accesses of the threads to registers before products that use them. */
    PRODUCT_FENCE,
    PROXY_FENCE,
    /** Makes new mbarriers visible. */
    INIT_FENCE,
    /** Makes a changed tensor map visible to tensor copies. */
    MAP_FENCE,
    AWAIT_GRID,
    LAUNCH_DEPENDENTS,
    EXIT
  }

  public static MemoryEffect of(int number, Instruction instruction, VariableExtents variables) {
    var modifiers = instruction.modifiers();
    return switch (instruction.form().semantics()) {
      case Semantics.Load _ ->
          access(
              number,
              instruction,
              strength(modifiers),
              modifiers.has("acquire"),
              false,
              modifiers.has("nc") ? AccessStamp.READ_ONLY : 0,
              variables);
      case Semantics.Store _ ->
          access(
              number,
              instruction,
              strength(modifiers),
              false,
              modifiers.has("release"),
              0,
              variables);
      case Semantics.Atomic _ ->
          access(
              number,
              instruction,
              scope(modifiers),
              modifiers.has("acquire") || modifiers.has("acq_rel"),
              modifiers.has("release") || modifiers.has("acq_rel"),
              AccessStamp.ATOMIC,
              variables);
      case Semantics.LoadMatrix _,
          Semantics.StoreMatrix _,
          Semantics.LoadTile _,
          Semantics.StoreTile _ ->
          access(number, instruction, AccessStamp.WEAK, false, false, 0, variables);
      case Semantics.AsyncCopy _ ->
          new MemoryEffect(
              Kind.COPY,
              instruction,
              number,
              AccessStamp.WEAK,
              false,
              false,
              AccessStamp.of(number, AccessStamp.WEAK, AccessStamp.COPY),
              0,
              variables.of(instruction.operands().getFirst()));
      case Semantics.CommitGroup _ -> plain(Kind.COMMIT, number, instruction, 0, 0);
      case Semantics.WaitGroup _ ->
          plain(
              Kind.WAIT,
              number,
              instruction,
              0,
              instruction.operands().isEmpty()
                  ? ALL_COPIES
                  : (int) ((Operand.Immediate) instruction.operands().getFirst()).bits());
      case Semantics.Fence fence -> fence(number, instruction, fence.kind());
      case Semantics.Mbarrier _, Semantics.CopyArrive _ ->
          plain(Kind.MBARRIER, number, instruction, 0, 0);
      case Semantics.BulkCopy _, Semantics.TensorCopy _, Semantics.StoreAsync _ ->
          async(Kind.ASYNC, number, instruction);
      case Semantics.Wgmma _ -> async(Kind.PRODUCT, number, instruction);
      case Semantics.TensorMemory use ->
          switch (use.kind()) {
            case ALLOCATE, LOAD, STORE ->
                access(number, instruction, AccessStamp.WEAK, false, false, 0, variables);
            case MULTIPLY -> async(Kind.PRODUCT, number, instruction);
            case COMMIT -> plain(Kind.MBARRIER, number, instruction, 0, 0);
            case DEALLOCATE, RELINQUISH, WAIT_LOADS, WAIT_STORES, FENCE ->
                plain(Kind.OTHER, number, instruction, 0, 0);
          };
      case Semantics.Warp warp ->
          switch (warp.kind()) {
            case PRODUCT_FENCE -> plain(Kind.PRODUCT_FENCE, number, instruction, 0, 0);
            case MATRIX_PRODUCT,
                TRANSPOSE,
                SHUFFLE,
                VOTE,
                MATCH,
                REDUCTION,
                ELECTION,
                REGISTER_COUNT ->
                plain(Kind.OTHER, number, instruction, 0, 0);
          };
      case Semantics.ClusterArrive _ ->
          new MemoryEffect(
              Kind.CLUSTER_ARRIVE,
              instruction,
              number,
              AccessStamp.WEAK,
              false,
              !modifiers.has("relaxed"),
              0,
              0,
              null);
      case Semantics.RuntimeCall _ ->
          new MemoryEffect(
              Kind.ACCESS,
              instruction,
              number,
              AccessStamp.WEAK,
              false,
              false,
              AccessStamp.of(number, AccessStamp.WEAK, 0),
              0,
              null);
      case Semantics.AwaitPreviousGrid _ -> plain(Kind.AWAIT_GRID, number, instruction, 0, 0);
      case Semantics.LaunchDependents _ -> plain(Kind.LAUNCH_DEPENDENTS, number, instruction, 0, 0);
      case Semantics.Exit _ -> plain(Kind.EXIT, number, instruction, 0, 0);
      // the emulator notifies observers of barriers and of the groups of bulk copies and products
      case Semantics.Pure _,
          Semantics.Converged _,
          Semantics.ClusterRank _,
          Semantics.Barrier _,
          Semantics.WarpBarrier _,
          Semantics.ClusterWait _,
          Semantics.CommitBulk _,
          Semantics.WaitBulk _,
          Semantics.WgmmaCommit _,
          Semantics.WgmmaWait _,
          Semantics.TensorMapUpdate _,
          Semantics.Branch _,
          Semantics.IndexedBranch _,
          Semantics.Call _,
          Semantics.Trap _,
          Semantics.NoEffect _ ->
          plain(Kind.OTHER, number, instruction, 0, 0);
    };
  }

  private static MemoryEffect fence(int number, Instruction instruction, FenceKind fence) {
    var modifiers = instruction.modifiers();
    var kind =
        switch (fence) {
          case MEMORY -> Kind.FENCE;
          case ALIAS -> Kind.OTHER;
          case ASYNC_PROXY -> Kind.PROXY_FENCE;
          case TENSOR_MAP -> modifiers.has("acquire") ? Kind.MAP_FENCE : Kind.FENCE;
          case MBARRIER_INIT -> Kind.INIT_FENCE;
        };
    boolean ofMemory = kind == Kind.FENCE || kind == Kind.MAP_FENCE;
    return new MemoryEffect(
        kind,
        instruction,
        number,
        scope(modifiers),
        ofMemory && !modifiers.has("release"),
        ofMemory && !modifiers.has("acquire"),
        0,
        0,
        null);
  }

  private static MemoryEffect async(Kind kind, int number, Instruction instruction) {
    return new MemoryEffect(
        kind,
        instruction,
        number,
        AccessStamp.WEAK,
        false,
        false,
        AccessStamp.of(number, AccessStamp.WEAK, AccessStamp.ASYNC),
        0,
        null);
  }

  /** Returns whether the operation accesses memory asynchronously. */
  boolean isAsync() {
    return kind == Kind.ASYNC || kind == Kind.PRODUCT;
  }

  /** Returns whether it is a product in tensor memory, which the earlier ones precede. */
  boolean isInTensorPipe() {
    return instruction.form().semantics() instanceof Semantics.TensorMemory && kind == Kind.PRODUCT;
  }

  /** Returns whether the operation accesses memory through the async proxy. */
  boolean isInAsyncProxy() {
    return isAsync() && !(instruction.form().semantics() instanceof Semantics.StoreAsync);
  }

  /** Returns whether its own thread accesses no memory except an mbarrier. */
  boolean isOfMbarrier() {
    return kind == Kind.MBARRIER || kind == Kind.ASYNC;
  }

  /** Returns the memories that a proxy fence covers. */
  Set<ProxyMemory> fences() {
    var modifiers = instruction.modifiers();
    return modifiers.has("global")
        ? EnumSet.of(ProxyMemory.GLOBAL)
        : modifiers.find(Space.class).isPresent()
            ? EnumSet.of(ProxyMemory.SHARED)
            : EnumSet.allOf(ProxyMemory.class);
  }

  /** Returns whether it is an asynchronous reduction, which updates memory atomically. */
  boolean reduces() {
    return isAsync()
        && (instruction.modifiers().has("reduce")
            || (instruction.form().semantics() instanceof Semantics.StoreAsync store
                && store.reduces()));
  }

  private static MemoryEffect plain(
      Kind kind, int number, Instruction instruction, int strength, int but) {
    return new MemoryEffect(kind, instruction, number, strength, false, false, 0, but, null);
  }

  private static MemoryEffect access(
      int number,
      Instruction instruction,
      int strength,
      boolean acquires,
      boolean releases,
      long flags,
      VariableExtents variables) {
    var address =
        instruction.operands().stream().filter(Operand.Address.class::isInstance).findFirst();
    return new MemoryEffect(
        Kind.ACCESS,
        instruction,
        number,
        strength,
        acquires,
        releases,
        AccessStamp.of(number, strength, flags),
        0,
        address.map(variables::of).orElse(null));
  }

  /** Returns whether it may begin an acquire pattern: a strong read, but not {@code red}. */
  boolean observes() {
    return strength != AccessStamp.WEAK
        && kind == Kind.ACCESS
        && !(instruction.form().semantics() instanceof Semantics.Atomic atomic
            && !atomic.returnsOld())
        && !(instruction.form().semantics() instanceof Semantics.Store);
  }

  private static int strength(Modifiers modifiers) {
    return List.of("volatile", "relaxed", "acquire", "release").stream().anyMatch(modifiers::has)
        ? scope(modifiers)
        : AccessStamp.WEAK;
  }

  /** Returns the scope, by default the device. */
  private static int scope(Modifiers modifiers) {
    return modifiers.has("cta")
        ? AccessStamp.BLOCK
        : modifiers.has("cluster") ? AccessStamp.CLUSTER : AccessStamp.DEVICE;
  }
}
