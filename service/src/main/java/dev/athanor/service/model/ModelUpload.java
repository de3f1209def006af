package dev.athanor.service.model;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.io.IOException;

/**
 * A model that a client sends.
 *
 * @param body an ONNX file, or a zip of the model's folder
 * @param isZip whether it is a zip
 * @param limit maximum number of bytes of all files
 * @param extents the extents that calls may choose
 */
public record ModelUpload(ByteSource body, boolean isZip, long limit, ExtentRanges extents) {

  void read(Incoming files) throws IOException {
    if (isZip) {
      ModelZip.unpack(body, limit, files);
    } else {
      files.add(ModelFiles.ONNX, limited());
    }
  }

  private ByteSource limited() {
    return new ByteSource() {
      private long left = limit;

      @Override
      public int read(byte[] target, int offset, int length) throws IOException {
        int n = body.read(target, offset, length);
        left -= Math.max(n, 0);
        if (left < 0) {
          throw new Failure.Refused(
              Code.TOO_LARGE, "the file exceeds the limit of %d bytes".formatted(limit));
        }
        return n;
      }
    };
  }
}
