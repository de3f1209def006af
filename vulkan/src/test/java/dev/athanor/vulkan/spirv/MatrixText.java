package dev.athanor.vulkan.spirv;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** The instructions of a shader that concern cooperative matrices, as a text. */
final class MatrixText {

  /** The operands of types, constants and pointers, by result. */
  private final Map<Integer, int[]> operands = new HashMap<>();

  /** The texts of filled matrices, by result. */
  private final Map<Integer, String> fills = new HashMap<>();

  /** The types of loads, by result. */
  private final Map<Integer, Integer> loads = new HashMap<>();

  private final StringBuilder text = new StringBuilder();
  private int privateAccesses;

  private MatrixText(Shader shader) {
    var words = shader.code().duplicate().order(shader.code().order()).asIntBuffer();
    words.position(5);
    while (words.hasRemaining()) {
      int first = words.get();
      var read = new int[(first >>> 16) - 1];
      words.get(read);
      read(first & 0xFFFF, read);
    }
  }

  /** Returns the text: an instruction a line. */
  static String of(Shader shader) {
    return new MatrixText(shader).text.toString();
  }

  /** Returns the number of accesses to memory of several threads that are not marked as such. */
  static int privateAccesses(Shader shader) {
    return new MatrixText(shader).privateAccesses;
  }

  private void read(int opcode, int[] o) {
    switch (opcode) {
      case Spirv.TYPE_FLOAT, Spirv.TYPE_POINTER, Spirv.TYPE_COOPERATIVE_MATRIX ->
          operands.put(o[0], o);
      case Spirv.CONSTANT, Spirv.ACCESS_CHAIN, Spirv.CONVERT_U_TO_PTR, Spirv.SHIFT_RIGHT_LOGICAL ->
          operands.put(o[1], o);
      case Spirv.CONSTANT_COMPOSITE ->
          fills.put(o[1], "Fill %s with 0x%x".formatted(matrix(o[0]), constant(o[2])));
      case Spirv.MEMORY_MODEL -> line("MemoryModel " + o[1]);
      case Spirv.CONTROL_BARRIER -> line("ControlBarrier 0x%x".formatted(constant(o[2])));
      case Spirv.COOPERATIVE_MATRIX_MUL_ADD -> line("MulAdd " + matrix(o[0]));
      case Spirv.COOPERATIVE_MATRIX_LOAD -> {
        line("Load %s, %s".formatted(matrix(o[0]), memory(o[2], o[3], o[4])));
        access(o, 2, 5);
      }
      case Spirv.COOPERATIVE_MATRIX_STORE -> {
        int type = Objects.requireNonNull(loads.get(o[1]));
        line("Store %s, %s".formatted(matrix(type), memory(o[0], o[2], o[3])));
        access(o, 0, 4);
      }
      case Spirv.LOAD -> {
        loads.put(o[1], o[0]);
        access(o, 2, 3);
      }
      case Spirv.STORE -> {
        var filled = fills.get(o[1]);
        if (filled != null) {
          line(filled);
        }
        access(o, 0, 2);
      }
      default -> {}
    }
  }

  private void line(String line) {
    text.append(line).append('\n');
  }

  /** Counts an access by its pointer and its memory operands. */
  private void access(int[] o, int pointer, int flags) {
    boolean isMarked = o.length > flags && (o[flags] & Spirv.NON_PRIVATE) != 0;
    if (operands.containsKey(o[pointer]) && !isMarked) {
      int storage = storage(o[pointer]);
      privateAccesses +=
          storage == Spirv.WORKGROUP || storage == Spirv.PHYSICAL_STORAGE_BUFFER ? 1 : 0;
    }
  }

  private int[] made(int id) {
    return Objects.requireNonNull(operands.get(id));
  }

  private int storage(int pointer) {
    return made(made(pointer)[0])[1];
  }

  private int constant(int id) {
    return made(id)[2];
  }

  /** Returns a number, a quotient of a shift, or n for a number that only the device knows. */
  private String number(int id) {
    var o = operands.get(id);
    if (o == null) {
      return "n";
    }
    return o.length == 3 ? "" + o[2] : number(o[2]) + "/" + (1 << constant(o[3]));
  }

  private String matrix(int type) {
    var o = made(type);
    return "%s f%d %dx%d"
        .formatted("ABC".charAt(constant(o[5])), made(o[1])[1], constant(o[3]), constant(o[4]));
  }

  private String memory(int pointer, int layout, int stride) {
    return "%ss of %s words in %s"
        .formatted(
            constant(layout) == Spirv.ROW_MAJOR ? "row" : "column",
            number(stride),
            storage(pointer) == Spirv.WORKGROUP ? "shared memory" : "device memory");
  }
}
