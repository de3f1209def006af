package dev.athanor.engine.ptx.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** No row has a form that {@code docs/emulator.md} lists as refused. */
class RefusedFormsTest {

  private static final Pattern LISTED = Pattern.compile("`([a-z]\\S*)`[,:]");

  /** The listed forms, in the notation of the table without operands. */
  private static List<InstructionForm> listed() throws IOException {
    return Files.readString(Path.of("../docs/emulator.md"))
        .split("## What ptxas accepts and the emulator refuses\n")[1]
        .split("\n## ")[0]
        .lines()
        .filter(line -> line.startsWith("- "))
        .flatMap(line -> LISTED.matcher(line).results().map(form -> form.group(1)))
        .flatMap(form -> Row.row("", "1.0", 20, form, new Semantics.NoEffect()).forms().stream())
        .toList();
  }

  @Test
  void noRowHasAListedForm() throws IOException {
    var listed = listed();
    assertThat(listed).isNotEmpty();
    for (var form : listed) {
      assertThat(
              InstructionTable.all().stream()
                  .filter(row -> row.mnemonic().equals(form.mnemonic()))
                  .filter(row ->
                      form.allModifiers().stream()
                          .anyMatch(words -> row.match(words.list()).isPresent())))
          .as(form.syntax())
          .isEmpty();
    }
  }
}
