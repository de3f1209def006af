package dev.athanor.engine.analysis.sass;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.analysis.sass.SassInstruction.Branch;
import dev.athanor.engine.ptx.Target;
import dev.athanor.testing.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares the decoder with {@code nvdisasm}, the file that {@code -Dathanor.nvdisasm} names or the
 * one on the {@code PATH}.
 */
class NvdisasmTest {

  private static final Pattern LABEL = Pattern.compile("^(\\.L_x_\\d+):");
  private static final Pattern INSTRUCTION =
      Pattern.compile("/\\*([0-9a-f]{4,})\\*/\\s+(@\\S+ )?\\s*([A-Z][A-Z0-9_.]*) ?([^;]*);");
  private static final Pattern TARGET = Pattern.compile("`\\((\\.L_x_\\d+)\\)");
  private static final Pattern MOVE =
      Pattern.compile("(IMAD(\\.MOV)?(\\.U32)? R\\d+, RZ, RZ|HFMA2(\\.MMA)? R\\d+, -RZ, RZ), .*");
  private static final Set<String> CLASSES =
      Arrays.stream(InstructionClass.values()).map(Enum::name).collect(Collectors.toSet());

  @TempDir private Path folder;

  private static Path nvdisasm() {
    var named = Optional.ofNullable(System.getProperty("athanor.nvdisasm")).map(Path::of);
    return Programs.require(
        named.or(() -> Programs.find("nvdisasm")),
        "nvdisasm",
        "install a CUDA toolkit or name the program with -Dathanor.nvdisasm=FILE");
  }

  @ParameterizedTest
  @ValueSource(strings = {"sm_80", "sm_86", "sm_89", "sm_90"})
  void decodesAsNvdisasmDoes(String target) throws IOException {
    var program = nvdisasm();
    var sources =
        List.of(
            SassKernels.product(),
            SassKernels.nested(),
            SassKernels.spilling(),
            SassKernels.straight());
    for (var ptx : sources) {
      var cubin = Assemblers.any().assemble(ptx, Target.of(target)).cubin();
      var kernel = Cubin.read(cubin).kernels().getFirst();
      var decoded = new TreeMap<Integer, String>();
      for (var each : kernel.instructions()) {
        decoded.put(each.address(), line(each));
      }
      var file = Files.write(folder.resolve("module.cubin"), cubin);
      var disassembled = disassemble(program, file);
      // nvdisasm leaves out the padding at the end
      decoded.keySet().retainAll(disassembled.keySet());
      assertThat(decoded).as(kernel.name()).hasSizeGreaterThan(8).isEqualTo(disassembled);
    }
  }

  private static String line(SassInstruction each) {
    return "%s%s%s"
        .formatted(
            each.conditional() ? "@ " : "",
            each.kind(),
            each.flow() instanceof Branch branch ? " %x".formatted(branch.target()) : "");
  }

  private static Map<Integer, String> disassemble(Path program, Path cubin) throws IOException {
    var process =
        new ProcessBuilder(program.toString(), "-c", cubin.toString())
            .redirectErrorStream(true)
            .start();
    var text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    var labels = new HashMap<String, Integer>();
    var pending = new ArrayList<String>();
    var lines = new TreeMap<Integer, String>();
    for (var each : text.lines().toList()) {
      var label = LABEL.matcher(each);
      if (label.find()) {
        pending.add(label.group(1));
      }
      var instruction = INSTRUCTION.matcher(each);
      if (instruction.find()) {
        int address = Integer.parseInt(instruction.group(1), 16);
        pending.forEach(name -> labels.put(name, address));
        pending.clear();
        var guard = instruction.group(2) == null ? "" : "@ ";
        var mnemonic = instruction.group(3);
        var operands = instruction.group(4);
        var name = mnemonic.split("\\.", 2)[0];
        var kind =
            MOVE.matcher(mnemonic + " " + operands).matches()
                ? "MOV"
                : CLASSES.contains(name) ? name : "OTHER";
        lines.put(address, guard + kind + (name.equals("BRA") ? " " + operands : ""));
      }
    }
    lines.replaceAll((_, line) -> {
      var target = TARGET.matcher(line);
      return target.find()
          ? line.replaceAll(" [^ ]*`.*", " %x".formatted(labels.get(target.group(1))))
          : line;
    });
    return lines;
  }
}
