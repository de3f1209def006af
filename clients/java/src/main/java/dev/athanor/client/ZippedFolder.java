package dev.athanor.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Objects;
import java.util.stream.StreamSupport;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * The files of a folder as a zip, which is written while it is read. Leaves out files and folders
 * whose names start with a period.
 */
final class ZippedFolder extends InputStream {

  private static final int PIECE = 1 << 16;

  private final Path folder;
  private final Iterator<Path> files;
  private final Written written = new Written();
  private final ZipOutputStream zip = new ZipOutputStream(written);
  private @Nullable InputStream file;
  private boolean complete;

  ZippedFolder(Path folder) throws IOException {
    this.folder = folder;
    // Weights are not compressible.
    zip.setLevel(Deflater.NO_COMPRESSION);
    try (var all = Files.walk(folder)) {
      files =
          all.filter(path -> Files.isRegularFile(path) && isShown(path))
              .sorted()
              .toList()
              .iterator();
    }
  }

  private boolean isShown(Path path) {
    var names = folder.relativize(path);
    return StreamSupport.stream(names.spliterator(), false)
        .noneMatch(name -> name.toString().startsWith("."));
  }

  /** The bytes of the zip that are not read yet. */
  private static final class Written extends ByteArrayOutputStream {
    private int start;

    int unread() {
      return count - start;
    }

    int read(byte[] target, int offset, int length) {
      int n = Math.min(length, unread());
      System.arraycopy(buf, start, target, offset, n);
      start += n;
      if (start == count) {
        reset();
        start = 0;
      }
      return n;
    }
  }

  @Override
  public int read() throws IOException {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, target.length);
    if (length == 0) {
      return 0;
    }
    while (written.unread() == 0) {
      if (complete) {
        return -1;
      }
      write();
    }
    return written.read(target, offset, length);
  }

  /** Adds the next piece of a file to the zip. */
  private void write() throws IOException {
    if (file == null) {
      if (!files.hasNext()) {
        zip.close();
        complete = true;
        return;
      }
      var next = files.next();
      var name = new StringBuilder();
      folder.relativize(next).forEach(part -> name.append(name.isEmpty() ? "" : "/").append(part));
      zip.putNextEntry(new ZipEntry(name.toString()));
      file = Files.newInputStream(next);
    }
    var piece = file.readNBytes(PIECE);
    if (piece.length > 0) {
      zip.write(piece);
    } else {
      file.close();
      file = null;
      zip.closeEntry();
    }
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
