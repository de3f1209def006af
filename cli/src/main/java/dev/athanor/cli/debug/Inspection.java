package dev.athanor.cli.debug;

import static java.util.Objects.requireNonNullElse;

import dev.athanor.engine.debug.WarpId;
import dev.athanor.engine.ptx.Modifier.Space;
import java.util.Base64;
import java.util.stream.Stream;
import org.eclipse.lsp4j.debug.DisassembleArguments;
import org.eclipse.lsp4j.debug.DisassembleResponse;
import org.eclipse.lsp4j.debug.ExceptionBreakMode;
import org.eclipse.lsp4j.debug.ExceptionInfoResponse;
import org.eclipse.lsp4j.debug.ReadMemoryArguments;
import org.eclipse.lsp4j.debug.ReadMemoryResponse;
import org.eclipse.lsp4j.debug.ScopesResponse;
import org.eclipse.lsp4j.debug.StackFrame;
import org.eclipse.lsp4j.debug.StackTraceArguments;
import org.eclipse.lsp4j.debug.StackTraceResponse;
import org.eclipse.lsp4j.debug.VariablesArguments;
import org.eclipse.lsp4j.debug.VariablesResponse;

/**
 * Handles the requests that inspect stopped launches. The methods throw {@link
 * IllegalStateException} if the launches are not stopped, and {@link IllegalArgumentException} if
 * the request is invalid.
 */
final class Inspection {
  private final LaunchedSession launched;

  Inspection(LaunchedSession launched) {
    this.launched = launched;
  }

  StackTraceResponse stackTrace(StackTraceArguments arguments) {
    var frames = launched.view().frames(launched.warp(arguments.getThreadId()));
    var response = new StackTraceResponse();
    int start = requireNonNullElse(arguments.getStartFrame(), 0);
    int levels = requireNonNullElse(arguments.getLevels(), 0);
    response.setStackFrames(
        Stream.of(frames)
            .skip(start)
            .limit(levels == 0 ? frames.length : levels)
            .peek(frame -> frame.setLine(frame.getLine() - 1 + launched.firstLine()))
            .toArray(StackFrame[]::new));
    response.setTotalFrames(frames.length);
    return response;
  }

  ScopesResponse scopes(int frame) {
    var response = new ScopesResponse();
    response.setScopes(launched.view().scopes(frame));
    return response;
  }

  VariablesResponse variables(VariablesArguments arguments) {
    var response = new VariablesResponse();
    response.setVariables(
        launched
            .view()
            .variables(
                arguments.getVariablesReference(), arguments.getStart(), arguments.getCount()));
    return response;
  }

  ReadMemoryResponse readMemory(ReadMemoryArguments arguments) {
    var at =
        MemoryReference.parse(
            arguments.getMemoryReference(), requireNonNullElse(arguments.getOffset(), 0));
    var state = launched.view().state();
    var focus = state.stop().warp();
    var bytes =
        state.read(
            new WarpId(focus.launch(), at.space() == Space.SHARED ? at.block() : focus.block(), 0),
            at.space(),
            at.address(),
            arguments.getCount());
    var response = new ReadMemoryResponse();
    response.setAddress("0x%x".formatted(at.address()));
    response.setData(Base64.getEncoder().encodeToString(bytes));
    response.setUnreadableBytes(arguments.getCount() - bytes.length);
    return response;
  }

  DisassembleResponse disassemble(DisassembleArguments arguments) {
    var state = launched.view().state();
    var response = new DisassembleResponse();
    response.setInstructions(
        Disassembly.of(state.instructions(state.stop().warp()), arguments, launched.files()));
    return response;
  }

  ExceptionInfoResponse exceptionInfo() {
    var report = launched.view().state().stop().finding();
    if (report == null) {
      throw new IllegalArgumentException("this stop is not at a finding");
    }
    var response = new ExceptionInfoResponse();
    response.setExceptionId(report.kind().name());
    response.setDescription(
        report
            + (report.other() == null
                ? ""
                : "\n%s in the debug console goes to the other access"
                    .formatted(DebugAdapter.OTHER_COMMAND)));
    response.setBreakMode(ExceptionBreakMode.ALWAYS);
    return response;
  }
}
