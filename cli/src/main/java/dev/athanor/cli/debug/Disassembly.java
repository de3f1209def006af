package dev.athanor.cli.debug;

import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.List;
import org.eclipse.lsp4j.debug.DisassembleArguments;
import org.eclipse.lsp4j.debug.DisassembledInstruction;
import org.eclipse.lsp4j.debug.DisassembledInstructionPresentationHint;

/** The instructions of a kernel, with consecutive addresses from {@link #FIRST}. */
final class Disassembly {

  /** Above 0, since clients ask for instructions before the first. */
  private static final long FIRST = 0x1_0000;

  private Disassembly() {}

  static String address(long number) {
    return "0x%x".formatted(FIRST + number);
  }

  /**
   * Returns the requested instructions; those outside the kernel are marked invalid.
   *
   * @throws IllegalArgumentException if the reference is not one of {@link #address}
   */
  static DisassembledInstruction[] of(
      List<Instruction> instructions, DisassembleArguments request, SourceFiles files) {
    var reference = request.getMemoryReference();
    if (!reference.matches("0x[0-9a-fA-F]{1,8}")) {
      throw new IllegalArgumentException(
          "\"%s\" is not an instruction reference; use the instruction pointer of a frame"
              .formatted(reference));
    }
    long first =
        Long.parseLong(reference.substring(2), 16)
            - FIRST
            + (request.getOffset() == null ? 0 : request.getOffset())
            + (request.getInstructionOffset() == null ? 0 : request.getInstructionOffset());
    var listing = new DisassembledInstruction[request.getInstructionCount()];
    for (int i = 0; i < listing.length; i++) {
      var shown = new DisassembledInstruction();
      long number = first + i;
      shown.setAddress(address(number));
      if (number >= 0 && number < instructions.size()) {
        var instruction = instructions.get((int) number);
        shown.setInstruction(instruction.toString());
        if (instruction.source().line() > 0) {
          shown.setLocation(files.source(instruction.source().file()));
          shown.setLine(instruction.source().line());
        }
      } else {
        shown.setInstruction("");
        shown.setPresentationHint(DisassembledInstructionPresentationHint.INVALID);
      }
      listing[i] = shown;
    }
    return listing;
  }
}
