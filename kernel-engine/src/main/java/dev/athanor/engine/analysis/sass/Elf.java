package dev.athanor.engine.analysis.sass;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The sections and symbols of a 64-bit little-endian ELF file. Source: System V Application Binary
 * Interface, chapters 4 and 5.
 */
final class Elf {

  private static final int HEADER_BYTES = 64;
  private static final int SECTION_BYTES = 64;
  private static final int SYMBOL_BYTES = 24;
  private static final int MACHINE_CUDA = 190;
  private static final int TYPE_NO_BITS = 8;
  private static final int FUNCTION = 2;

  /** Set in {@code st_other} of the symbol of a kernel. */
  private static final int CUDA_ENTRY = 0x10;

  private final ByteBuffer file;
  private final List<Section> sections;

  /**
   * A section.
   *
   * @param offset in the file
   * @param size in bytes; a section without bits takes none of the file
   */
  record Section(int index, String name, int type, long offset, long size) {}

  /**
   * A symbol of a function.
   *
   * @param section the index of its section
   * @param value bytes from the start of the section
   */
  record Function(int symbol, String name, int section, long value, boolean kernel) {}

  Elf(byte[] bytes) {
    file = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.length < HEADER_BYTES) {
      throw new CubinException(
          "Not a cubin: it has %d bytes, and an ELF header has %d."
              .formatted(bytes.length, HEADER_BYTES));
    }
    if (file.getInt(0) != 0x464c457f || file.get(4) != 2 || file.get(5) != 1) {
      throw new CubinException("Not a cubin: it is not a 64-bit little-endian ELF file.");
    }
    int machine = file.getShort(18) & 0xffff;
    if (machine != MACHINE_CUDA) {
      throw new CubinException(
          "Not a cubin: its ELF machine is %d, and CUDA's is %d.".formatted(machine, MACHINE_CUDA));
    }
    sections = readSections();
  }

  private List<Section> readSections() {
    long table = file.getLong(40);
    int count = file.getShort(60) & 0xffff;
    int names = file.getShort(62) & 0xffff;
    requireInside("section table", table, (long) count * SECTION_BYTES);
    if (names >= count) {
      throw damaged("it has %d sections, and number %d has their names".formatted(count, names));
    }
    var unnamed = new ArrayList<Section>();
    for (int i = 0; i < count; i++) {
      int at = (int) table + i * SECTION_BYTES;
      var section =
          new Section(i, "", file.getInt(at + 4), file.getLong(at + 24), file.getLong(at + 32));
      if (section.type() != TYPE_NO_BITS) {
        requireInside("section " + i, section.offset(), section.size());
      }
      unnamed.add(section);
    }
    var named = new ArrayList<Section>();
    for (var each : unnamed) {
      var name = text(unnamed.get(names), file.getInt((int) table + each.index() * SECTION_BYTES));
      named.add(new Section(each.index(), name, each.type(), each.offset(), each.size()));
    }
    return List.copyOf(named);
  }

  /** Returns the flags of the header. */
  int flags() {
    return file.getInt(48);
  }

  /** Returns the version of the ABI, which decides where the flags have the target. */
  int abiVersion() {
    return file.get(8) & 0xff;
  }

  Optional<Section> section(String name) {
    return sections.stream().filter(section -> section.name().equals(name)).findFirst();
  }

  /** Returns the bytes of a section that has some. */
  ByteBuffer contents(Section section) {
    if (section.type() == TYPE_NO_BITS) {
      throw damaged("section %s has no contents".formatted(section.name()));
    }
    return file.slice((int) section.offset(), (int) section.size()).order(file.order());
  }

  /** Returns the functions, in the order of the symbol table. */
  List<Function> functions() {
    var functions = new ArrayList<Function>();
    var symbols = section(".symtab").map(this::contents).orElse(ByteBuffer.allocate(0));
    var names = section(".strtab").orElse(null);
    for (int i = 0; (i + 1) * SYMBOL_BYTES <= symbols.limit() && names != null; i++) {
      int at = i * SYMBOL_BYTES;
      if ((symbols.get(at + 4) & 0xf) == FUNCTION) {
        functions.add(
            new Function(
                i,
                text(names, symbols.getInt(at)),
                symbols.getShort(at + 6) & 0xffff,
                symbols.getLong(at + 8),
                (symbols.get(at + 5) & CUDA_ENTRY) != 0));
      }
    }
    return functions;
  }

  private String text(Section strings, int offset) {
    var all = contents(strings);
    int end = offset;
    while (end >= 0 && end < all.limit() && all.get(end) != 0) {
      end++;
    }
    if (end < 0 || end >= all.limit()) {
      throw damaged("a name is at %d of %d bytes of names".formatted(offset, all.limit()));
    }
    var text = new byte[end - offset];
    all.get(offset, text);
    return new String(text, StandardCharsets.UTF_8);
  }

  private void requireInside(String what, long offset, long size) {
    if (offset < 0 || size < 0 || offset > file.limit() - size) {
      throw damaged(
          "its %s has %d bytes at %d, and the file has %d"
              .formatted(what, size, offset, file.limit()));
    }
  }

  static CubinException damaged(String what) {
    return new CubinException("Damaged cubin: " + what + ".");
  }
}
