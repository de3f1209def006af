package dev.athanor.service.model;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.HostAllocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.springframework.util.FileSystemUtils;

/** The files of a model while a request sends them. Closing it deletes what was not stored. */
abstract sealed class Incoming implements AutoCloseable {

  private final Map<String, MemorySegment> files = new HashMap<>();

  /** Adds a file; its path is safe and new. */
  final void add(String name, ByteSource content) throws IOException {
    files.put(name, keep(name, content));
  }

  abstract MemorySegment keep(String name, ByteSource content) throws IOException;

  final ModelFiles files() {
    return new ModelFiles(files);
  }

  @Override
  public void close() {}

  /** Files in memory. */
  static final class InMemory extends Incoming {
    private final HeldBody body;

    InMemory(HostAllocator memory) {
      body = new HeldBody(memory);
    }

    @Override
    MemorySegment keep(String name, ByteSource content) throws IOException {
      return body.read(content);
    }
  }

  /** Files in a temporary folder. */
  static final class InFolder extends Incoming {
    private static final int BUFFER = 1 << 16;

    private final Path folder;

    InFolder(Path folder) {
      this.folder = folder;
    }

    Path folder() {
      return folder;
    }

    @Override
    MemorySegment keep(String name, ByteSource content) throws IOException {
      var path = folder.resolve(name);
      Files.createDirectories(path.getParent());
      try (var file =
          FileChannel.open(
              path,
              StandardOpenOption.CREATE_NEW,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE)) {
        var buffer = ByteBuffer.allocateDirect(BUFFER);
        while (content.read(buffer) >= 0) {
          buffer.flip();
          while (buffer.hasRemaining()) {
            file.write(buffer);
          }
          buffer.clear();
        }
        file.force(true);
        return map(file);
      }
    }

    /** Maps a file; the garbage collector unmaps it. */
    static MemorySegment map(FileChannel file) throws IOException {
      return file.map(MapMode.READ_ONLY, 0, file.size(), Arena.ofAuto());
    }

    @Override
    public void close() {
      try {
        FileSystemUtils.deleteRecursively(folder);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
