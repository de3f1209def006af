package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand.Immediate;
import java.util.List;
import java.util.function.Consumer;

/**
 * A task of some warpgroups of a block, such as copying or multiplying. Warpgroups with different
 * roles run different code and divide the registers of the multiprocessor among themselves (PTX ISA
 * 9.7.19.5).
 *
 * @param groups number of warpgroups
 * @param registers of a thread: a multiple of 8 from 24 to 240
 * @param body emits the code, given the index of the warpgroup among those of this role
 */
public record WarpRole(int groups, int registers, Consumer<Int> body) {

  /** Threads of a warpgroup. */
  public static final int GROUP = 128;

  private static final int LEAST_REGISTERS = 24;
  private static final int MOST_REGISTERS = 240;
  private static final int REGISTER_UNIT = 8;
  private static final int REGISTERS = 64 << 10;

  public WarpRole {
    if (registers < LEAST_REGISTERS
        || registers > MOST_REGISTERS
        || registers % REGISTER_UNIT != 0) {
      throw new IllegalArgumentException(
          "%s: threads of a role have a multiple of %d registers from %d to %d, got %d"
              .formatted(
                  BodyEmitter.here(), REGISTER_UNIT, LEAST_REGISTERS, MOST_REGISTERS, registers));
    }
  }

  /** Returns the registers of a thread before roles divide them. */
  private static int atEntry(int threads) {
    return Math.min(MOST_REGISTERS, REGISTERS / threads / REGISTER_UNIT * REGISTER_UNIT);
  }

  /**
   * Divides the block, which has as many threads as all roles together. The first role has the
   * first warpgroups.
   *
   * @throws IllegalArgumentException if the roles have other threads or too many registers
   */
  public static void divide(KernelBuilder k, List<WarpRole> roles) {
    int threads = k.emitter().block().threads();
    int groups = roles.stream().mapToInt(WarpRole::groups).sum();
    int entry = atEntry(threads);
    int registers = roles.stream().mapToInt(role -> role.groups * role.registers).sum();
    if (groups * GROUP != threads || registers > entry * groups) {
      throw new IllegalArgumentException(
          "%s: roles have %d warpgroups and %d registers; the block has %d warpgroups and %d registers for a lane of each"
              .formatted(
                  BodyEmitter.here(),
                  groups,
                  registers,
                  threads / GROUP,
                  entry * (threads / GROUP)));
    }
    // the same in all lanes, so that the assembler knows it for the warp
    var group = k.thread().div(GROUP).value().fromLane(k.integer(0)).integer();
    divide(k, roles, group, entry);
  }

  private static void divide(KernelBuilder k, List<WarpRole> roles, Int group, int entry) {
    var first = roles.getFirst();
    Runnable run =
        () -> {
          if (first.registers != entry) {
            k.emitter()
                .emit(
                    "setmaxnreg.%s.sync.aligned.u32"
                        .formatted(first.registers < entry ? "dec" : "inc"),
                    Immediate.of(first.registers));
          }
          first.body.accept(group);
        };
    if (roles.size() == 1) {
      run.run();
    } else {
      k.when(
          group.lt(first.groups),
          run,
          () ->
              divide(
                  k, roles.subList(1, roles.size()), group.minus(k.integer(first.groups)), entry));
    }
  }
}
