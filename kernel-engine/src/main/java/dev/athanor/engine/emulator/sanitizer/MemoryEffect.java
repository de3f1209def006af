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
 * What an instruction does in the memory model (PTX ISA 8).
 *
 * @param strength {@link AccessStamp#WEAK}, or as far as its scope goes
 * @param mark its number, strength and flags
 * @param but how many of a thread's groups a wait leaves, or {@link #ALL_COPIES}
 * @param extent of the variable that its address belongs to; null = any
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

  /** What is to be done about an instruction. */
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
    /** Issues a bulk copy, a copy of a tile or a store that an mbarrier learns of. */
    FLIGHT,
    /** Issues a product of a warpgroup. */
    PRODUCT,
    /** Lets products use registers that the threads have touched. */
    PRODUCT_FENCE,
    PROXY_FENCE,
    /** Makes new mbarriers visible. */
    INIT_FENCE,
    /** Makes a changed tensor map visible to copies of tiles. */
    MAP_FENCE,
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
          flight(Kind.FLIGHT, number, instruction);
      case Semantics.Wgmma _ -> flight(Kind.PRODUCT, number, instruction);
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
      case Semantics.Exit _ -> plain(Kind.EXIT, number, instruction, 0, 0);
      // the emulator tells observers of barriers and of the groups of bulk copies and products
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

  private static MemoryEffect flight(Kind kind, int number, Instruction instruction) {
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

  /** Whether what it touches is touched by something that goes on beside the threads. */
  boolean isInFlight() {
    return kind == Kind.FLIGHT || kind == Kind.PRODUCT;
  }

  /** Whether that is so by the proxy that a fence separates from the threads'. */
  boolean isInAsyncProxy() {
    return isInFlight() && !(instruction.form().semantics() instanceof Semantics.StoreAsync);
  }

  /** Whether the memory that its own thread touches is that of an mbarrier only. */
  boolean isOfMbarrier() {
    return kind == Kind.MBARRIER || kind == Kind.FLIGHT;
  }

  /** The memory that a proxy fence is for. */
  Set<ProxyMemory> fences() {
    var modifiers = instruction.modifiers();
    return modifiers.has("global")
        ? EnumSet.of(ProxyMemory.GLOBAL)
        : modifiers.find(Space.class).isPresent()
            ? EnumSet.of(ProxyMemory.SHARED)
            : EnumSet.allOf(ProxyMemory.class);
  }

  /** Whether it combines what is there with something, with nobody between. */
  boolean combines() {
    return isInFlight()
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

  /** Whether it may be the first half of an acquire pattern: a {@code red} never is. */
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

  /** Where none is said it is the device. */
  private static int scope(Modifiers modifiers) {
    return modifiers.has("cta")
        ? AccessStamp.BLOCK
        : modifiers.has("cluster") ? AccessStamp.CLUSTER : AccessStamp.DEVICE;
  }
}
