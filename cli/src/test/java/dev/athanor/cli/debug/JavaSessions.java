package dev.athanor.cli.debug;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.KernelSources;
import dev.athanor.cli.argument.TensorFile;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.lsp4j.debug.StackFrame;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Base of tests with the kernels of Waves.java, which each test compiles. */
abstract class JavaSessions {

  private static final int LENGTH = 20;

  @TempDir Path folder;

  private final List<AutoCloseable> open = new ArrayList<>();
  DebugClient client;
  Path source;

  @BeforeEach
  void connect() throws Exception {
    var server = new DebugServer(0);
    open.add(server);
    Thread.ofPlatform().daemon().start(server::serve);
    var socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    open.add(socket);
    client = new DebugClient(socket.getInputStream(), socket.getOutputStream());
    source = KernelSources.waves(folder);
  }

  @AfterEach
  void close() throws Exception {
    for (var each : open.reversed()) {
      each.close();
    }
  }

  void compile(String debugInformation, Path file) throws Exception {
    KernelSources.compile(debugInformation, file, folder.resolve("classes"));
  }

  int line(String text) throws Exception {
    var lines = Files.readAllLines(source);
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).contains(text)) {
        return i + 1;
      }
    }
    throw new AssertionError(text);
  }

  Map<String, Object> request(String method, Object... arguments) {
    return new HashMap<>(
        Map.of(
            "class",
            "sample.Waves",
            "classPath",
            List.of(folder.resolve("classes").toString()),
            "method",
            method,
            "args",
            List.of(arguments),
            "sourcePath",
            folder.toString()));
  }

  Map<String, Object> waves() throws Exception {
    compile("-g", source);
    var x = MemorySegment.ofArray(new byte[4 * LENGTH]);
    for (int i = 0; i < LENGTH; i++) {
      x.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 4L * i, i);
    }
    var file = folder.resolve("x.npy");
    TensorFile.write(file, new HostTensor(new TensorType(DType.F32, Shape.of(LENGTH)), x));
    return request("waves", "in:" + file, "out:" + result() + ":i32:20", "0.5", "true", 18);
  }

  Path result() {
    return folder.resolve("out.npy");
  }

  int stopAt(int line, @Nullable String condition) throws Exception {
    var breakpoint = client.breakpoint(source.toString(), line, condition);
    assertThat(breakpoint.getMessage()).isNull();
    assertThat(breakpoint.getLine()).isEqualTo(line);
    client.start();
    var stop = client.stopped();
    assertThat(stop.getHitBreakpointIds()).containsExactly(breakpoint.getId());
    return stop.getThreadId();
  }

  StackFrame top(int thread) throws Exception {
    return client.frames(thread)[0];
  }
}
