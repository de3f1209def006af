package dev.athanor.engine.analysis.sass;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The attributes of a section {@code .nv.info} that are followed by their values. */
final class NvInfo {

  /** Format of an attribute that is followed by its value. */
  private static final int SIZED_VALUE = 4;

  /** An attribute of the kernel or function that the section or the value names. */
  record Attribute(int number, ByteBuffer value) {}

  private NvInfo() {}

  /** Returns the attributes of a section; none if there is no such section. */
  static List<Attribute> read(Elf elf, String section) {
    var found = new ArrayList<Attribute>();
    var info = elf.section(section).map(elf::contents).orElse(ByteBuffer.allocate(0));
    while (info.remaining() >= Integer.BYTES) {
      int format = info.get();
      int number = info.get() & 0xff;
      int size = info.getShort() & 0xffff;
      if (format == SIZED_VALUE) {
        if (size > info.remaining()) {
          throw Elf.damaged("an attribute of .nv.info ends after its section");
        }
        found.add(new Attribute(number, info.slice(info.position(), size).order(info.order())));
        info.position(info.position() + size);
      }
    }
    return found;
  }
}
