package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.blackwell;
import static dev.athanor.engine.ptx.table.Row.row;
import static dev.athanor.engine.ptx.table.Row.warp;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics.Converged;
import dev.athanor.engine.ptx.Semantics.WarpBarrier;
import dev.athanor.engine.ptx.Semantics.WarpKind;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.Collectives;
import dev.athanor.engine.ptx.meaning.ReductionOperation;
import java.util.List;

/** Shuffles, votes and reductions of a warp (PTX ISA 9.7.9.6, 9.7.13). */
final class WarpRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      Row.forms(
          // shuffle, vote, match, reduction
          warp(WarpKind.SHUFFLE, "9.7.9.6",     "5.1", 30, "shfl.sync.<up|down|bfly|idx>.b32 d{1|p:pred}, a, b:u32, c:u32, membermask:u32", Collectives::shuffle),
          row("9.7.9.5", "3.0", 30, "shfl.<up|down|bfly|idx>.b32 d{1|p:pred}, a, b:u32, c:u32", new Converged(Collectives::shuffle)).removed("6.4", 70, "shfl.sync with a member mask"),
          row("9.7.13.8", "1.2", 20, "vote.all.pred p:pred, a:pred", new Converged(Collectives::all)).removed("6.4", 70, "vote.sync with a member mask"),
          row("9.7.13.8", "1.2", 20, "vote.<any>.pred p:pred, a:pred", new Converged(Collectives::any)).removed("6.4", 70, "vote.sync with a member mask"),
          row("9.7.13.8", "1.2", 20, "vote.uni.pred p:pred, a:pred", new Converged(Collectives::uniform)).removed("6.4", 70, "vote.sync with a member mask"),
          row("9.7.13.8", "2.0", 20, "vote.ballot.b32 d, a:pred", new Converged(Collectives::ballot)).removed("6.4", 70, "vote.sync with a member mask"),
          warp(WarpKind.VOTE, "9.7.13.9", "5.1", 30, "vote.sync.all.pred p:pred, a:pred, membermask:u32", Collectives::all),
          warp(WarpKind.VOTE, "9.7.13.9", "5.1", 30, "vote.sync.<any>.pred p:pred, a:pred, membermask:u32", Collectives::any),
          warp(WarpKind.VOTE, "9.7.13.9", "5.1", 30, "vote.sync.uni.pred p:pred, a:pred, membermask:u32", Collectives::uniform),
          warp(WarpKind.VOTE, "9.7.13.9", "5.1", 30, "vote.sync.ballot.b32 d, a:pred, membermask:u32", Collectives::ballot),
          warp(WarpKind.MATCH, "9.7.13.10", "5.1", 70, "match.<any>.sync.<b32|b64> d:b32, a, membermask:u32", Collectives::match),
          warp(WarpKind.MATCH, "9.7.13.10", "5.1", 70, "match.all.sync.<b32|b64> d:b32{1|p:pred}, a, membermask:u32", Collectives::match),
          row("9.7.13.11", "6.2", 30, "activemask.b32 d", new Converged(Collectives::activeMask)),
          warp(WarpKind.REDUCTION, "9.7.13.12", "7.0", 80, "redux.sync.add.<u32|s32> d, a, membermask:u32", Collectives.reduce(ReductionOperation.ADD.onInts(Type.U32))),
          warp(WarpKind.REDUCTION, "9.7.13.12", "7.0", 80, "redux.sync.min.s32 d, a, membermask:u32", Collectives.reduce(ReductionOperation.MIN.onInts(Type.S32))),
          warp(WarpKind.REDUCTION, "9.7.13.12", "7.0", 80, "redux.sync.max.s32 d, a, membermask:u32", Collectives.reduce(ReductionOperation.MAX.onInts(Type.S32))),
          warp(WarpKind.REDUCTION, "9.7.13.12", "7.0", 80, "redux.sync.min.u32 d, a, membermask:u32", Collectives.reduce(ReductionOperation.MIN.onInts(Type.U32))),
          warp(WarpKind.REDUCTION, "9.7.13.12", "7.0", 80, "redux.sync.max.u32 d, a, membermask:u32", Collectives.reduce(ReductionOperation.MAX.onInts(Type.U32))),
          warp(WarpKind.REDUCTION, "9.7.13.12", "7.0", 80, "redux.sync.and.b32 d, a, membermask:u32", Collectives.reduce(ReductionOperation.AND.onInts(Type.B32))),
          warp(WarpKind.REDUCTION, "9.7.13.12", "7.0", 80, "redux.sync.or.b32 d, a, membermask:u32", Collectives.reduce(ReductionOperation.OR.onInts(Type.B32))),
          warp(WarpKind.REDUCTION, "9.7.13.12", "7.0", 80, "redux.sync.xor.b32 d, a, membermask:u32", Collectives.reduce(ReductionOperation.XOR.onInts(Type.B32))),
          blackwell(WarpKind.REDUCTION, "9.7.13.12", "8.6", "redux.sync.min{.abs}{.NaN}.f32 d, a, membermask:u32", Collectives.reduceFloats(ReductionOperation.MIN)),
          blackwell(WarpKind.REDUCTION, "9.7.13.12", "8.6", "redux.sync.max{.abs}{.NaN}.f32 d, a, membermask:u32", Collectives.reduceFloats(ReductionOperation.MAX)),
          warp(WarpKind.ELECTION, "9.7.13.14", "8.0", 90, "elect.sync d?:b32|p:pred, membermask:u32", Collectives::elect),
          row("9.7.13.2", "5.1", 30, "bar.warp.sync membermask:u32", new WarpBarrier()));
  // spotless:on

  private WarpRows() {}
}
