package dev.athanor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Checks the Markdown pages of the repository. */
class DocumentationTest {

  /**
   * The maximum number of words, which keeps the pages readable: shorten others rather than raise
   * it.
   */
  private static final int MAX_WORDS = 30_000;

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Pages that tests or benchmarks write. */
  private static final Pattern GENERATED =
      Pattern.compile("docs/(ops|settings|results/h200-.*|results/predicted/[a-z].*)\\.md");

  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");

  /** Returns the pages, relative to the root. */
  private static List<Path> pages() throws IOException {
    var pages = new ArrayList<Path>();
    try (var files = Files.list(ROOT)) {
      files.filter(DocumentationTest::isPage).forEach(pages::add);
    }
    for (var folder : List.of("docs", "api-spec", "docker", "helm", "examples")) {
      try (var files = Files.walk(ROOT.resolve(folder))) {
        files.filter(DocumentationTest::isPage).forEach(pages::add);
      }
    }
    return pages.stream().map(ROOT::relativize).filter(DocumentationTest::isWritten).toList();
  }

  private static boolean isPage(Path file) {
    return file.toString().endsWith(".md");
  }

  private static boolean isWritten(Path page) {
    return !page.toString().contains("/target/") && !page.toString().contains("/src/");
  }

  private static String text(Path page) {
    try {
      return Files.readString(ROOT.resolve(page));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the number of words of a page, up to a part that a test writes. */
  private static long words(Path page) {
    var text = text(page);
    int generated = text.indexOf("<!-- Made from");
    var written = generated < 0 ? text : text.substring(0, generated);
    return Pattern.compile("\\S+").matcher(written).results().count();
  }

  @Test
  void pagesAreShort() throws IOException {
    var counts =
        pages().stream()
            .filter(page -> !GENERATED.matcher(page.toString()).matches())
            .collect(Collectors.toMap(page -> page, DocumentationTest::words));
    assertThat(counts).hasSizeGreaterThan(40);
    assertThat(counts.values().stream().mapToLong(Long::longValue).sum())
        .as("words of %s", counts)
        .isLessThanOrEqualTo(MAX_WORDS);
  }

  @Test
  void everyLinkLeadsToAPageAndItsHeading() throws IOException {
    var broken = new TreeSet<String>();
    for (var page : pages()) {
      for (var link : links(page)) {
        var parts = link.split("#", 2);
        var target =
            parts[0].isEmpty()
                ? ROOT.resolve(page)
                : ROOT.resolve(page).resolveSibling(parts[0]).normalize();
        if (!Files.exists(target)
            || (parts.length == 2
                && target.toString().endsWith(".md")
                && !anchors(target).contains(parts[1]))) {
          broken.add(page + ": " + link);
        }
      }
    }
    assertThat(broken).isEmpty();
  }

  @Test
  void theMapNamesEveryPage() throws IOException {
    var map = Path.of("docs/README.md");
    var named =
        links(map).stream()
            .map(link -> ROOT.relativize(ROOT.resolve(map).resolveSibling(link).normalize()))
            .collect(Collectors.toSet());
    var pages =
        pages().stream().filter(page -> page.startsWith("docs") && page.getNameCount() == 2);
    assertThat(pages.filter(page -> !page.equals(map)).toList()).allMatch(named::contains);
  }

  /** Returns the links of a page to other files and to headings. */
  private static List<String> links(Path page) {
    return LINK.matcher(text(page))
        .results()
        .map(link -> link.group(1))
        .filter(link -> !link.contains("://") && !link.startsWith("mailto:"))
        .toList();
  }

  /** Returns the fragments of a page's headings as GitHub forms them. */
  private static Set<String> anchors(Path page) {
    return Pattern.compile("(?m)^#+ (.*)$")
        .matcher(text(page))
        .results()
        .map(DocumentationTest::anchor)
        .collect(Collectors.toSet());
  }

  private static String anchor(MatchResult heading) {
    return heading
        .group(1)
        .strip()
        .toLowerCase(Locale.ROOT)
        .replaceAll("[^\\w\\- ]", "")
        .replace(' ', '-');
  }
}
