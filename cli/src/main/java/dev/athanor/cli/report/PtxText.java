package dev.athanor.cli.report;

import dev.athanor.engine.ptx.Module;
import dev.athanor.service.codec.KernelView;
import java.util.List;

/** The PTX of a module of one kernel as lines of text. */
public final class PtxText {

  /** The column of annotations; those of longer lines follow after one space. */
  private static final int ANNOTATION_COLUMN = 64;

  private PtxText() {}

  /**
   * Returns the lines.
   *
   * @param annotate whether each line has its Java source line and the number of live registers
   */
  public static List<String> of(Module module, boolean annotate) {
    return KernelView.of(module).lines().stream()
        .map(line -> annotate ? annotated(line) : line.text())
        .toList();
  }

  private static String annotated(KernelView.Line line) {
    var live = line.live();
    return live == null
        ? line.text()
        : "%s%s// %-26s %3d %s"
            .formatted(
                line.text(),
                " ".repeat(Math.max(1, ANNOTATION_COLUMN - line.text().length())),
                line.source(),
                live,
                "#".repeat(Math.ceilDiv(live, 4)));
  }
}
