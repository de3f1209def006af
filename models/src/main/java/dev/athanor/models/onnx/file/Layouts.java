package dev.athanor.models.onnx.file;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** The layouts of elements in host tensors. */
final class Layouts {
  static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
  static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private Layouts() {}
}
