package dev.athanor.engine.debug;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.debug.Outcome.Ended;
import dev.athanor.engine.debug.Outcome.Stopped;
import dev.athanor.engine.debug.Stop.Reason;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class DebugSessionTest {

  private static final String FILE = "test.ptx";

  private static final EmulatorOptions PLAIN =
      EmulatorOptions.DEFAULT.withSanitize(Sanitize.OFF).withMemoryBytes(1 << 24);

  private static final EmulatorOptions CHECKED = PLAIN.withSanitize(Sanitize.FULL);

  /** words[i] = 3 * words[i] in a loop that adds. */
  private static final String LOOP =
      """
      .version 7.8
      .target sm_80
      .address_size 64
      .visible .entry triple(.param .u64 words)
      {
        .reg .pred %p;
        .reg .b32 %i, %sum, %x, %n;
        .reg .b64 %a, %o;
        ld.param.u64 %a, [words];
        mov.u32 %i, %tid.x;
        mul.wide.u32 %o, %i, 4;
        add.s64 %a, %a, %o;
        ld.global.u32 %x, [%a];
        mov.u32 %sum, 0;
        mov.u32 %n, 3;
      $more:
        add.u32 %sum, %sum, %x;
        sub.u32 %n, %n, 1;
        setp.gt.u32 %p, %n, 0;
        @%p bra $more;
        st.global.u32 [%a], %sum;
        ret;
      }
      """;

  private static final int SUM = 17;
  private static final int STORE = 21;

  private static final String RACE =
      """
      .version 7.8
      .target sm_80
      .address_size 64
      .visible .entry reverse(.param .u64 y)
      {
        .reg .b32 %r<5>;
        .reg .b64 %rd<3>;
        .shared .align 4 .b8 tile[256];
        mov.u32 %r0, %tid.x;
        mov.u32 %r1, tile;
        mad.lo.u32 %r2, %r0, 4, %r1;
        st.shared.u32 [%r2], %r0;
        sub.u32 %r3, 63, %r0;
        mad.lo.u32 %r3, %r3, 4, %r1;
        ld.shared.u32 %r4, [%r3];
        ld.param.u64 %rd0, [y];
        mul.wide.u32 %rd1, %r0, 4;
        add.s64 %rd0, %rd0, %rd1;
        st.global.u32 [%rd0], %r4;
        ret;
      }
      """;

  private final List<DebugSession> sessions = new ArrayList<>();

  @AfterEach
  void close() {
    sessions.forEach(DebugSession::close);
  }

  private DebugSession session(Debuggee debuggee) {
    var session = new DebugSession(debuggee, _ -> {});
    sessions.add(session);
    return session;
  }

  private DebugSession loop(EmulatorOptions options, int grid, int block) {
    var words = IntStream.rangeClosed(1, block).toArray();
    return session(PtxDebuggee.of(LOOP, options, grid, block, words));
  }

  private static Stop stop(CompletableFuture<Outcome> outcome) {
    return ((Stopped) outcome.join()).stop();
  }

  private static int line(DebugSession session) {
    var state = session.state();
    return state.fragments(state.stop().warp()).getFirst().instruction().source().line();
  }

  private static String value(DebugSession session, String register, int lane) {
    var state = session.state();
    return state.register(state.stop().warp(), register).orElseThrow().text(lane);
  }

  private static Breakpoint at(int line) {
    return new Breakpoint(FILE, line, null);
  }

  @Test
  void stopsOnEntryAndRunsToTheEnd() {
    var session = loop(PLAIN, 1, 40);
    var entry = stop(session.start(true));
    assertThat(entry.reason()).isEqualTo(Reason.ENTRY);
    assertThat(line(session)).isEqualTo(9);
    assertThat(value(session, "%sum", 0)).isEqualTo("not written");
    assertThat(session.state().warps()).containsExactly(new WarpId(0, 0, 0), new WarpId(0, 0, 1));
    assertThat(session.resume().join()).isEqualTo(new Ended(List.of(), null));
    assertThat(session.isStopped()).isFalse();
    assertThatThrownBy(session::state)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("the launches have ended or not begun");
  }

  @Test
  void stopsAtABreakpointInEachTurnOfALoop() {
    var session = loop(PLAIN, 1, 32);
    session.setBreakpoints(List.of(at(SUM)));
    var sums = new ArrayList<String>();
    for (var outcome = session.start(false).join();
        outcome instanceof Stopped stopped;
        outcome = session.resume().join()) {
      assertThat(stopped.stop().reason()).isEqualTo(Reason.BREAKPOINT);
      assertThat(stopped.stop().breakpoints()).containsExactly(at(SUM));
      sums.add(value(session, "%sum", 4));
    }
    assertThat(sums).containsExactly("0", "5", "10");
  }

  @Test
  void aConditionChoosesLaneBlockAndValue() {
    var session = loop(PLAIN, 3, 40);
    session.setBreakpoints(
        List.of(
            new Breakpoint(
                FILE, SUM, Condition.parse("lane == 2 && warp==1 && block.x >= 1 && %sum > 35"))));
    var hit = stop(session.start(false));
    assertThat(hit.warp()).isEqualTo(new WarpId(0, 1, 1));
    // words were tripled by block 0
    assertThat(value(session, "%x", 2)).isEqualTo("105");
    assertThat(value(session, "%sum", 2)).isEqualTo("105");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          lane = 3 | "lane = 3" is not a condition: column 6: expected an operator or the end, found "= 3"
          lane == | "lane ==" is not a condition: column 8: expected an operand, found the end
          '' | "" is not a condition: column 1: expected an operand, found the end
          """)
  void saysWhyATextIsNoCondition(String text, String sentence) {
    assertThatThrownBy(() -> Condition.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(sentence);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          lane + 1 | "lane + 1" is not a condition: its type is int; write a comparison, as in lane == 3
          lane && warp == 1 | column 6: the operands of && are int and boolean; expected booleans
          %other == 1 | the kernel has no register %other
          lane == %p | column 6: the operands of == are int and boolean; expected two numbers or two booleans
          words == 1 && %sum2 > 0 | the kernel has no register %sum2
          """)
  void checksNamesAndTypesOfAConditionBeforeTheLaunch(String text, String sentence) {
    var session = loop(PLAIN, 1, 32);
    assertThatThrownBy(() -> session.check(at(text)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(sentence);
  }

  /** The condition holds first in a block and warp, in a turn of the loop. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      textBlock =
          """
          warp == 1 || %sum + %x == 64 ; 0 ; 0 ; 2
          %tid.x % 32 == 5 && words[%i] * 2 == 76 && %n < 3 ; 0 ; 1 ; 2
          block == 1 && (thread.x ^ 33) == 0 && %sum != 0 ; 1 ; 1 ; 2
          block.x == 1 && words[thread.x] > words.length * 3 - 9 && n <= 1 ; 1 ; 1 ; 3
          (float) sum / x > 1.5 ? warp == 1 : false ; 0 ; 1 ; 3
          Math.max(x, 40) == 40 && thread.x >> 5 == 1 ; 0 ; 1 ; 1
          """)
  void aCompoundConditionStopsWhereItHolds(String text, long block, int warp, int turn) {
    var session = loop(PLAIN.withSchedule(Schedule.ONE_BY_ONE), 2, 64);
    session.check(at(text));
    session.setBreakpoints(List.of(at(text)));
    var hit = stop(session.start(false));
    assertThat(hit.warp()).isEqualTo(new WarpId(0, block, warp));
    assertThat(line(session)).isEqualTo(SUM);
    assertThat(value(session, "%n", 0)).isEqualTo(String.valueOf(4 - turn));
  }

  @Test
  void aFailingConditionDoesNotHoldAndIsPrintedOnce() {
    var printed = new ArrayList<String>();
    var session =
        new DebugSession(
            PtxDebuggee.of(LOOP, PLAIN, 1, 64, IntStream.rangeClosed(1, 64).toArray()),
            printed::add);
    sessions.add(session);
    session.setBreakpoints(
        List.of(
            at("words[%i + 32] == 1"),
            at("12 / (lane - 3) == -6"),
            at("missing == 1 || lane == 0")));
    // lane 1: 12 / -2
    var hit = stop(session.start(false));
    assertThat(hit.breakpoints()).containsExactly(at("12 / (lane - 3) == -6"));
    session.setBreakpoints(List.of(at("words[%i + 32] == 1"), at("missing == 1 || lane == 0")));
    assertThat(session.resume().join()).isInstanceOf(Ended.class);
    assertThat(printed)
        .containsExactlyInAnyOrder(
            "condition \"missing == 1 || lane == 0\" at test.ptx:17: \"missing\" is not a variable, register, parameter, buffer or shared array of triple\n",
            "condition \"words[%i + 32] == 1\" at test.ptx:17: words[64] is out of bounds; an index is a number from 0 to 63\n");
  }

  private static Breakpoint at(String condition) {
    return new Breakpoint(FILE, SUM, Condition.parse(condition));
  }

  @Test
  void acceptsConditionsWithRegistersAndIndices() {
    loop(PLAIN, 1, 32)
        .check(at("thread.x == 0x10 && %sum != -1 && !%p && n > 1.5f && %tid.y == 0"));
  }

  @Test
  void findsTheNextLineWithInstructions() {
    var session = loop(PLAIN, 1, 32);
    assertThat(session.lineFrom(FILE, 1)).hasValue(9);
    assertThat(session.lineFrom(FILE, SUM)).hasValue(SUM);
    assertThat(session.lineFrom(FILE, STORE + 2)).isEmpty();
    assertThat(session.lineFrom("other.ptx", 1)).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(Schedule.class)
  void goesBackToTheSameValues(Schedule schedule) {
    var session = loop(PLAIN.withSchedule(schedule).withSeed(7), 2, 64);
    var first = new WarpId(0, 0, 1);
    session.setBreakpoints(List.of(new Breakpoint(FILE, SUM, Condition.parse("warp == 1"))));
    var at = stop(session.start(false));
    session.setBreakpoints(List.of());
    var forward = new ArrayList<String>();
    forward.add(snapshot(session, first));
    for (int i = 0; i < 7; i++) {
      assertThat(stop(session.stepInto(first)).warp()).isEqualTo(first);
      forward.add(snapshot(session, first));
    }
    assertThat(forward).doesNotHaveDuplicates();
    for (int i = 6; i >= 0; i--) {
      var back =
          stop(i % 2 == 0 ? session.stepBackLine(first) : session.stepBackInstruction(first));
      assertThat(back.warp()).isEqualTo(first);
      assertThat(snapshot(session, first)).isEqualTo(forward.get(i));
    }
    assertThat(session.state().stop().step()).isEqualTo(at.step());
    assertThat(stop(session.stepInstruction(first)).step()).isGreaterThan(at.step());
    assertThat(snapshot(session, first)).isEqualTo(forward.get(1));
  }

  private static String snapshot(DebugSession session, WarpId warp) {
    var text = new StringBuilder().append(line(session));
    var state = session.state();
    for (var register : state.registers(warp)) {
      text.append(' ').append(register.name());
      for (int lane = 0; lane < 32; lane++) {
        text.append(' ').append(register.text(lane));
      }
    }
    var words = state.buffers(warp).getFirst();
    for (int i = 0; i < words.count(); i++) {
      text.append(' ').append(words.text(i));
    }
    return text.toString();
  }

  @Test
  void reversesToTheLastBreakpointAndThenToTheStart() {
    var session = loop(PLAIN, 1, 32);
    session.setBreakpoints(List.of(at(SUM), at(STORE)));
    for (var outcome = session.start(false).join(); line(session) != STORE; ) {
      outcome = session.resume().join();
      assertThat(outcome).isInstanceOf(Stopped.class);
    }
    assertThat(stop(session.reverse()).reason()).isEqualTo(Reason.BREAKPOINT);
    assertThat(line(session)).isEqualTo(SUM);
    assertThat(value(session, "%n", 0)).isEqualTo("1");
    assertThat(stop(session.reverse()).breakpoints()).containsExactly(at(SUM));
    assertThat(value(session, "%n", 0)).isEqualTo("2");
    stop(session.reverse());
    assertThat(stop(session.reverse()).reason()).isEqualTo(Reason.ENTRY);
    assertThat(line(session)).isEqualTo(9);
  }

  @Test
  void readsMemoryAndPointers() {
    var session = loop(PLAIN, 1, 32);
    session.setBreakpoints(List.of(at(STORE)));
    var warp = stop(session.start(false)).warp();
    var state = session.state();
    var words = state.buffers(warp).getFirst();
    assertThat(words.name()).isEqualTo("words");
    assertThat(words.count()).isEqualTo(32);
    assertThat(words.text(3)).isEqualTo("4");
    assertThat(state.read(warp, Space.GLOBAL, words.address() + 8, 5))
        .containsExactly(3, 0, 0, 0, 4);
    assertThat(state.read(warp, Space.GLOBAL, words.address() + 126, 9)).hasSize(2);
    assertThat(state.read(warp, Space.GLOBAL, 0, 4)).isEmpty();
    long pointer = state.register(warp, "%a").orElseThrow().bits().get(2);
    assertThat(state.describe(warp, pointer)).hasValue("words+8");
    assertThat(state.describe(warp, 0)).isEmpty();
    assertThat(state.parameters(warp).getFirst().name()).isEqualTo("words");
    assertThat(state.register(warp, "%tid.x").orElseThrow().text(5)).isEqualTo("5");
    assertThat(state.threadIndex(warp, 5)).isEqualTo(new Report.Index(5, 0, 0));
  }

  @Test
  void stopsAtBothSidesOfARace() {
    var session = session(PtxDebuggee.of(RACE, CHECKED, 1, 64, new int[64]));
    var race = stop(session.start(false));
    assertThat(race.reason()).isEqualTo(Reason.FINDING);
    var report = requireNonNull(race.finding());
    var access = requireNonNull(race.access());
    var otherPlace = requireNonNull(report.other());
    assertThat(report.kind()).isEqualTo(Report.Kind.RACE_IN_BLOCK);
    assertThat(line(session)).isEqualTo(15);
    assertThat(value(session, "%r4", report.place().lane())).isEqualTo("not written");
    assertThat(value(session, "%r3", report.place().lane()))
        .isEqualTo(String.valueOf(access.address()));

    var other = stop(session.goToOther(race));
    assertThat(other.warp().warp()).isEqualTo(otherPlace.warp());
    assertThat(line(session)).isEqualTo(12);
    assertThat(value(session, "%r2", otherPlace.lane()))
        .isEqualTo(String.valueOf(access.address()));

    assertThat(requireNonNull(stop(session.resume()).finding()).kind())
        .isEqualTo(Report.Kind.RACE_IN_BLOCK);
    var shared = session.state().shared(race.warp()).getFirst();
    assertThat(shared.name()).isEqualTo("tile");
    assertThat(shared.text(9)).isEqualTo("9");
    var end = (Ended) session.resume().join();
    assertThat(end.findings()).extracting(Report::kind).containsOnly(Report.Kind.RACE_IN_BLOCK);
  }

  @Test
  void stopsAtAFaultAndGoesBack() {
    var session = session(PtxDebuggee.of(LOOP, PLAIN, 1, 64, new int[40]));
    var fault = stop(session.start(false));
    assertThat(fault.reason()).isEqualTo(Reason.FAULT);
    assertThat(requireNonNull(fault.finding()).kind()).isEqualTo(Report.Kind.OUT_OF_BOUNDS);
    assertThat(fault.warp().warp()).isEqualTo(1);
    assertThat(line(session)).isEqualTo(13);
    stop(session.stepBackLine(fault.warp()));
    assertThat(line(session)).isEqualTo(12);
    assertThat(stop(session.resume()).reason()).isEqualTo(Reason.FAULT);
    var end = (Ended) session.resume().join();
    assertThat(end.findings()).extracting(Report::kind).contains(Report.Kind.OUT_OF_BOUNDS);
  }

  @Test
  void findsNoOtherAccessWhereThereIsNone() {
    var session = loop(PLAIN, 1, 32);
    var entry = stop(session.start(true));
    assertThatThrownBy(() -> session.goToOther(entry))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("this stop has no other access to go to");
  }

  @Test
  void pausesAnEndlessLoop() throws Exception {
    var endless = LOOP.replace("sub.u32 %n, %n, 1;", "st.global.u32 [%a], %n;");
    var session = session(PtxDebuggee.of(endless, PLAIN, 1, 32, new int[32]));
    session.setBreakpoints(List.of(at(SUM)));
    assertThat(stop(session.start(false)).reason()).isEqualTo(Reason.BREAKPOINT);
    session.setBreakpoints(List.of());
    var running = session.resume();
    assertThatThrownBy(() -> running.get(200, TimeUnit.MILLISECONDS))
        .isInstanceOf(TimeoutException.class);
    session.pause();
    assertThat(stop(running).reason()).isEqualTo(Reason.PAUSE);
    assertThat(line(session)).isBetween(SUM, STORE - 1);
  }

  @Test
  void stepsThroughBothSidesOfABranch() {
    var divergent = LOOP.replace("mov.u32 %n, 3;", "add.u32 %n, %i, 1;");
    var session = session(PtxDebuggee.of(divergent, PLAIN, 1, 32, new int[32]));
    session.setBreakpoints(
        List.of(new Breakpoint(FILE, SUM, Condition.parse("lane == 31 && %n == 31"))));
    var warp = stop(session.start(false)).warp();
    var fragments = session.state().fragments(warp);
    // lane 0 has left the loop after its first turn
    assertThat(fragments).hasSize(2);
    assertThat(fragments.getFirst().lanes()).isEqualTo(-2);
    assertThat(fragments.getLast().lanes()).isEqualTo(1);
    assertThat(fragments.getLast().instruction().source().line()).isEqualTo(STORE);
  }

  @Test
  void endsWithTheReasonWhyAKernelCannotBeLoaded() {
    var session =
        session(
            PtxDebuggee.of(
                LOOP.replace("sm_80", "sm_90"),
                PLAIN.withTarget(Target.SM_80),
                1,
                32,
                new int[32]));
    var end = (Ended) session.start(false).join();
    assertThat(end.failure()).contains("it is for sm_90, the device is sm_80");
  }
}
