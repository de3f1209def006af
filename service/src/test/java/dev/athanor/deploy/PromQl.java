package dev.athanor.deploy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The metrics and labels of a PromQL expression. The parser recognizes only selectors and
 * groupings; promtool checks whether the expression is valid.
 */
public final class PromQl {

  /**
   * A selector.
   *
   * @param metric the metric name
   * @param labels the text that each label is compared with, for any operator
   */
  public record Selector(String metric, Map<String, String> labels) {}

  private static final Pattern TOKEN =
      Pattern.compile(
          "\\s+|#.*|\\[[^]]*]|\"[^\"]*\"|'[^']*'|`[^`]*`|[\\d.]+\\w*|[A-Za-z_:][\\w:]*|[=!<>]=|[=!]~|.");
  private static final Set<String> GROUPING =
      Set.of("by", "without", "on", "ignoring", "group_left", "group_right");
  private static final Set<String> KEYWORDS =
      Set.of("and", "or", "unless", "bool", "offset", "atan2");

  private final List<String> tokens;
  private final List<Selector> selectors = new ArrayList<>();
  private final Set<String> groupings = new TreeSet<>();

  private PromQl(List<String> tokens) {
    this.tokens = tokens;
  }

  /** Parses an expression. */
  public static PromQl of(String expression) {
    var matcher = TOKEN.matcher(expression);
    var promQl =
        new PromQl(
            matcher
                .results()
                .map(token -> token.group())
                .filter(token -> !token.isBlank() && !token.startsWith("#"))
                .toList());
    promQl.parse();
    return promQl;
  }

  /** Returns the selectors in order of occurrence. */
  public List<Selector> selectors() {
    return selectors;
  }

  /** Returns the labels that series are grouped or matched by. */
  public Set<String> groupings() {
    return groupings;
  }

  private String token(int index) {
    return index < tokens.size() ? tokens.get(index) : "";
  }

  private void parse() {
    int i = 0;
    while (i < tokens.size()) {
      String token = token(i++);
      if (GROUPING.contains(token)) {
        while (token(i).equals("(") || token(i).equals(",") || isName(token(i))) {
          if (isName(token(i))) {
            groupings.add(token(i));
          }
          i++;
        }
      } else if (isName(token) && !KEYWORDS.contains(token)) {
        boolean function = token(i).equals("(") || GROUPING.contains(token(i));
        if (!function) {
          i = selector(token, i);
        }
      }
    }
  }

  private int selector(String metric, int start) {
    int i = start;
    Map<String, String> labels = new LinkedHashMap<>();
    if (token(i).equals("{")) {
      i++;
      while (!token(i).equals("}")) {
        if (token(i).equals(",")) {
          i++;
        } else {
          String text = token(i + 2);
          labels.put(token(i), text.substring(1, text.length() - 1));
          i += 3;
        }
      }
      i++;
    }
    selectors.add(new Selector(metric, labels));
    return i;
  }

  private static boolean isName(String token) {
    return token.matches("[A-Za-z_:][\\w:]*");
  }
}
