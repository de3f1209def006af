package dev.athanor.service.model;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;

/**
 * A model that a client sends.
 *
 * @param limit maximum number of bytes of all files
 * @param extents the extents that calls may choose
 * @param batch the extent along which calls share runs; empty if they do not
 */
public record ModelUpload(
    ByteSource body, Format format, long limit, ExtentRanges extents, String batch) {

  /** The path of the extent in requests. */
  public static final String BATCH = "batch";

  /** What a body is. */
  public enum Format {
    ONNX("application/onnx"),
    GRAPH("application/json"),

    /** The model's folder. */
    ZIP("application/zip");

    private final String type;

    Format(String type) {
      this.type = type;
    }

    /** Returns the media type. */
    public String type() {
      return type;
    }

    /**
     * Returns the format of a media type, whose parameters are ignored.
     *
     * @param field the path of the type in the request
     * @throws Failure.Refused with {@code unsupported-media-type}
     */
    public static Format of(String type, String field) {
      var bare = type.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
      return Arrays.stream(values())
          .filter(format -> format.type.equals(bare))
          .findFirst()
          .orElseThrow(() ->
              new Failure.Refused(
                  Code.UNSUPPORTED_MEDIA_TYPE,
                  field,
                  "%s is %s; it must be %s, %s for a graph, or %s for a folder"
                      .formatted(field, Tensors.excerpt(type), ONNX.type, GRAPH.type, ZIP.type)));
    }
  }

  void read(Incoming files) throws IOException {
    switch (format) {
      case ONNX -> files.add(ModelFiles.ONNX, limited());
      case GRAPH -> files.add(ModelFiles.GRAPH, limited());
      case ZIP -> ModelZip.unpack(body, limit, files);
    }
  }

  private ByteSource limited() {
    return new ByteSource() {
      private long read;

      @Override
      public int read(byte[] target, int offset, int length) throws IOException {
        int n = body.read(target, offset, length);
        read += Math.max(n, 0);
        if (read > limit) {
          throw new Failure.Refused(
              Code.TOO_LARGE, "the file exceeds the limit of %d bytes".formatted(limit));
        }
        return n;
      }
    };
  }
}
