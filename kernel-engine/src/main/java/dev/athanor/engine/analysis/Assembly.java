package dev.athanor.engine.analysis;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Machine code and what it needs.
 *
 * @param kernels what each kernel needs, by name
 * @param warnings what the assembler complained of, and what it says that it changed, a sentence
 *     each
 * @param cubin the machine code, an ELF file
 */
@SuppressWarnings("ArrayRecordComponent") // a result to read, never a key
public record Assembly(Map<String, Usage> kernels, List<String> warnings, byte[] cubin) {

  private static final Pattern ENTRY = Pattern.compile("Compiling entry function '([^']+)'");
  private static final Pattern FUNCTION = Pattern.compile("Function properties for (\\S+)");
  private static final Pattern STACK =
      Pattern.compile(
          "(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  private static final Pattern REGISTERS = Pattern.compile("Used (\\d+) registers");
  private static final Pattern SHARED = Pattern.compile("(\\d+) bytes smem");
  private static final Pattern REMARK =
      Pattern.compile(
          "ptxas\\s.*(?:warning|\\(C\\d+\\)|Potential Performance Loss|Advisory).*",
          Pattern.CASE_INSENSITIVE);

  public Assembly {
    kernels = Map.copyOf(kernels);
    warnings = List.copyOf(warnings);
  }

  /**
   * What a kernel needs.
   *
   * @param registers of a thread
   * @param stackBytes of a thread, spilled registers among them
   * @param spillStoreBytes how much the code writes to the stack for want of registers
   * @param spillLoadBytes how much it reads from there
   * @param staticSharedBytes of a block, without what the launch adds
   */
  public record Usage(
      int registers,
      int stackBytes,
      int spillStoreBytes,
      int spillLoadBytes,
      int staticSharedBytes) {}

  /**
   * What one of its kernels needs.
   *
   * @throws IllegalArgumentException when there is no kernel of that name
   */
  public Usage of(String kernel) {
    var usage = kernels.get(kernel);
    if (usage == null) {
      throw new IllegalArgumentException(
          "the module has no kernel %s; it has %s"
              .formatted(kernel, String.join(", ", kernels.keySet())));
    }
    return usage;
  }

  /**
   * Reads the verbose log that ptxas and the compiler library alike write: of each kernel a line
   * that names it, one with its stack and one with its registers.
   */
  static Assembly read(String log, byte[] cubin) {
    var kernels = new LinkedHashMap<String, Usage>();
    var warnings = new ArrayList<String>();
    var kernel = "";
    var stack = new int[3];
    for (var line : log.lines().toList()) {
      var entry = ENTRY.matcher(line);
      var function = FUNCTION.matcher(line);
      var frame = STACK.matcher(line);
      var used = REGISTERS.matcher(line);
      if (entry.find()) {
        kernel = entry.group(1);
        stack = new int[3];
      } else if (function.find()) {
        // A device function has a frame of its own, which is not the kernel's.
        stack = function.group(1).equals(kernel) ? stack : new int[0];
      } else if (frame.find() && stack.length == 3) {
        for (int i = 0; i < 3; i++) {
          stack[i] = Integer.parseInt(frame.group(i + 1));
        }
      } else if (used.find()) {
        var shared = SHARED.matcher(line);
        kernels.put(
            kernel,
            new Usage(
                Integer.parseInt(used.group(1)),
                stack.length == 3 ? stack[0] : 0,
                stack.length == 3 ? stack[1] : 0,
                stack.length == 3 ? stack[2] : 0,
                shared.find() ? Integer.parseInt(shared.group(1)) : 0));
      } else if (REMARK.matcher(line).matches()) {
        warnings.add(line.strip());
      }
    }
    return new Assembly(kernels, warnings, cubin);
  }
}
