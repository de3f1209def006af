package dev.athanor.service.model;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Iterator;
import java.util.Map;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** The files of a model as an uncompressed zip file, which is written while it is read. */
final class ModelArchive extends InputStream {

  private static final int PIECE = 1 << 16;

  private final Iterator<Map.Entry<String, MemorySegment>> files;
  private final Written written = new Written();
  private final ZipOutputStream zip = new ZipOutputStream(written);

  /** What is left of the current file. */
  private MemorySegment rest = MemorySegment.NULL;

  private boolean hasEnded;

  ModelArchive(ModelFiles model) {
    files = model.all().entrySet().iterator();
    zip.setLevel(Deflater.NO_COMPRESSION);
  }

  @Override
  public int read() throws IOException {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    while (written.isRead() && !hasEnded) {
      write();
    }
    return written.isRead() && length > 0 ? -1 : written.read(target, offset, length);
  }

  private void write() throws IOException {
    if (rest.byteSize() > 0) {
      long bytes = Math.min(rest.byteSize(), PIECE);
      zip.write(rest.asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE));
      rest = rest.asSlice(bytes);
    } else if (files.hasNext()) {
      var file = files.next();
      zip.putNextEntry(new ZipEntry(file.getKey()));
      rest = file.getValue();
    } else {
      zip.close();
      hasEnded = true;
    }
  }

  /** What is written and not yet read. */
  private static final class Written extends ByteArrayOutputStream {
    private int position;

    boolean isRead() {
      return position == count;
    }

    int read(byte[] target, int offset, int length) {
      int bytes = Math.min(length, count - position);
      System.arraycopy(buf, position, target, offset, bytes);
      position += bytes;
      if (isRead()) {
        reset();
        position = 0;
      }
      return bytes;
    }
  }
}
