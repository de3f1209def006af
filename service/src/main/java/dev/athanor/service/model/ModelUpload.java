package dev.athanor.service.model;

import dev.athanor.service.codec.ByteSource;
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
      files.add(ModelFiles.ONNX, body);
    }
  }
}
