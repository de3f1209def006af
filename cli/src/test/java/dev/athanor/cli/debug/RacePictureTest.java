package dev.athanor.cli.debug;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.argument.TensorFile;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.eclipse.lsp4j.debug.StackFrame;
import org.eclipse.lsp4j.debug.StoppedEventArguments;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Draws docs/pictures/race.svg, the recording of a session that stops at a race: everything that it
 * shows is what the debugger answers. -Dbless writes it.
 */
class RacePictureTest extends JavaSessions {

  private static final Path PICTURE = Path.of("../docs/pictures/race.svg");

  /** The longest line of text beside the code. */
  private static final int COLUMNS = 58;

  private static final int LINE_HEIGHT = 18;
  private static final int WIDTH = 940;
  private static final int HEIGHT = 380;
  private static final int SECONDS = 5;

  /**
   * One picture of the recording.
   *
   * @param action what the user did
   * @param line the line at which the kernel stands
   * @param notes the lines beside the code; those that begin with {@code #} are headings
   */
  private record Scene(String action, int line, List<String> notes) {}

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void pictureShowsWhatTheDebuggerAnswers() throws Exception {
    compile("-g", source);
    var input = MemorySegment.ofArray(IntStream.range(0, 64).map(i -> i * i).toArray());
    var file = folder.resolve("data.npy");
    TensorFile.write(file, new HostTensor(new TensorType(DType.I32, Shape.of(64)), input));
    var request = request("race", "in:" + file);
    request.put("sanitize", true);
    client.launch(request);
    client.start();
    var scenes = new ArrayList<Scene>();
    var race = client.stopped();
    scenes.add(scene("Start debugging", race, "Stopped: " + race.getDescription()));
    assertThat(client.evaluate(":other", null)).isEqualTo("Going to the other access …");
    var other = client.stopped();
    scenes.add(scene(":other", other, "The other access, earlier in the same run"));

    var picture = svg(scenes);
    if (System.getProperty("bless") != null) {
      Files.createDirectories(PICTURE.getParent());
      Files.writeString(PICTURE, picture);
    }
    assertThat(PICTURE).hasContent(picture);
  }

  private Scene scene(String action, StoppedEventArguments stop, String title) throws Exception {
    var notes = new ArrayList<String>();
    notes.add("# " + title);
    if (stop.getText() != null) {
      notes.addAll(wrapped(stop.getText()));
    }
    var frames = client.frames(stop.getThreadId());
    notes.add("# Call stack");
    Arrays.stream(frames).map(StackFrame::getName).map(RacePictureTest::cut).forEach(notes::add);
    notes.add("# Variables");
    for (var scope : client.scopes(frames[0].getId())) {
      if (scope.getName().equals("Variables")) {
        for (var variable : client.variables(scope.getVariablesReference(), null, null)) {
          notes.add(cut(variable.getName() + " = " + variable.getValue()));
        }
      }
    }
    return new Scene(action, frames[0].getLine(), notes);
  }

  private static String cut(String text) {
    return text.length() <= COLUMNS ? text : text.substring(0, COLUMNS - 1) + "…";
  }

  private static List<String> wrapped(String text) {
    return text.replaceAll("(.{1," + COLUMNS + "})(?:\\s+|$)", "$1\n").lines().toList();
  }

  /** Returns the scenes one after the other, without end; the first one if nothing may move. */
  private String svg(List<Scene> scenes) throws Exception {
    var svg = new StringBuilder();
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="monospace" font-size="13">
        <title>The debugger stops at a race and goes back to the other access</title>
        <style>
        text { fill: #d4d4d4; white-space: pre }
        .heading { fill: #9cdcfe; font-weight: bold }
        .number { fill: #858585 }
        .action { fill: #dcdcaa }
        .scene { opacity: 0; animation: scene %ds step-end infinite }
        @keyframes scene { 0%% { opacity: 1 } %s%% { opacity: 0 } }
        @media (prefers-reduced-motion) { .scene { animation: none } .scene:first-of-type { opacity: 1 } }
        </style>
        <rect width="100%%" height="100%%" rx="8" fill="#1e1e1e"/>
        """
            .formatted(WIDTH, HEIGHT, SECONDS * scenes.size(), 100 / scenes.size()));
    var code = Files.readAllLines(source);
    int first = line("static void race") - 1;
    for (int i = 0; i < scenes.size(); i++) {
      var scene = scenes.get(i);
      svg.append("<g class=\"scene\" style=\"animation-delay: %ds\">\n".formatted(i * SECONDS));
      text(svg, 16, 1, "action", "> " + scene.action());
      for (int at = first; !code.get(at - 1).equals("  }"); at++) {
        int row = at - first + 3;
        if (at == scene.line()) {
          svg.append(
              "<rect x=\"8\" y=\"%d\" width=\"404\" height=\"%d\" fill=\"#4b4b18\"/>\n"
                  .formatted(row * LINE_HEIGHT - 4, LINE_HEIGHT));
        }
        text(svg, 16, row, "number", "%2d %s".formatted(at, at == scene.line() ? "▶" : " "));
        text(svg, 56, row, "code", code.get(at - 1).replaceFirst("^ {2}", ""));
      }
      int row = 1;
      for (var note : scene.notes()) {
        boolean heading = note.startsWith("# ");
        row += heading && row > 1 ? 2 : 1;
        text(svg, 440, row - 1, heading ? "heading" : "note", note.replaceFirst("^# ", ""));
      }
      assertThat(row * LINE_HEIGHT).as(scene.action()).isLessThan(HEIGHT);
      svg.append("</g>\n");
    }
    return svg.append("</svg>\n").toString();
  }

  private static void text(StringBuilder svg, int x, int row, String style, String text) {
    var escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    svg.append(
        "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n"
            .formatted(x, row * LINE_HEIGHT + 10, style, escaped));
  }
}
