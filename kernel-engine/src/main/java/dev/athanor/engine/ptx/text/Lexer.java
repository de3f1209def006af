package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Splits PTX text into tokens (PTX ISA 4). */
final class Lexer {

  /** The kinds of tokens. */
  enum Kind {
    /**
     * A name, a directive or an opcode with its modifiers: {@code %r1}, {@code .reg}, {@code
     * fma.rn.f32}.
     */
    WORD,
    NUMBER,
    PUNCTUATION,
    /** Without its quotation marks. */
    STRING,
    END
  }

  record Token(Kind kind, String text, Source source) {
    boolean is(String punctuation) {
      return kind == Kind.PUNCTUATION && text.equals(punctuation);
    }

    @Override
    public String toString() {
      return kind == Kind.END ? "the end of the text" : "\"" + text + "\"";
    }
  }

  private static final Pattern NUMBER =
      Pattern.compile(
          "0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]++U?|0[bB][01]++U?"
              + "|[0-9]++\\.[0-9]*+(?:[eE][+-]?[0-9]++)?|[0-9]++[eE][+-]?[0-9]++|[0-9]++U?");
  private static final String PUNCTUATION = "{}[]()<>,;:@!|+-=*/&^~?";
  private static final List<String> LONG = List.of("<<", ">>", "<=", ">=", "==", "!=", "&&", "||");

  private Lexer() {}

  static List<Token> tokens(String text, String file) {
    var tokens = new ArrayList<Token>();
    var number = NUMBER.matcher(text);
    int line = 1;
    int lineStart = 0;
    for (int at = 0; at < text.length(); ) {
      int end = space(text, at);
      var source = new Source(file, line, at - lineStart + 1);
      char c = text.charAt(at);
      if (end == UNCLOSED) {
        throw new PtxSyntaxException(source, "the comment is not closed; write */ at its end");
      } else if (end > at) {
        for (int i = at; i < end; i++) {
          if (text.charAt(i) == '\n') {
            line++;
            lineStart = i + 1;
          }
        }
      } else if (c == '"') {
        end = at + 1;
        while (end < text.length() && text.charAt(end) != '"' && text.charAt(end) != '\n') {
          end++;
        }
        if (end == text.length() || text.charAt(end) == '\n') {
          throw new PtxSyntaxException(source, "the string is not closed; write \" at its end");
        }
        tokens.add(new Token(Kind.STRING, text.substring(at + 1, end), source));
        end++;
      } else if (isLetter(c) || "_$%.".indexOf(c) >= 0) {
        end = word(text, at);
        tokens.add(new Token(Kind.WORD, text.substring(at, end), source));
      } else if (number.region(at, text.length()).lookingAt()) {
        end = number.end();
        tokens.add(new Token(Kind.NUMBER, number.group(), source));
      } else if (PUNCTUATION.indexOf(c) >= 0) {
        int two = Math.min(text.length(), at + 2);
        end = LONG.contains(text.substring(at, two)) ? two : at + 1;
        tokens.add(new Token(Kind.PUNCTUATION, text.substring(at, end), source));
      } else {
        throw new PtxSyntaxException(
            source, "the character \"%s\" is not allowed in PTX".formatted(c));
      }
      at = end;
    }
    tokens.add(new Token(Kind.END, "", new Source(file, line, text.length() - lineStart + 1)));
    return tokens;
  }

  private static final int UNCLOSED = -1;

  /** Returns the end of the blank space or comment that begins here. */
  private static int space(String text, int at) {
    boolean isLineMarker = text.charAt(at) == '#' && (at == 0 || text.charAt(at - 1) == '\n');
    if (text.startsWith("//", at) || isLineMarker) { // # 1 "a.cu", as preprocessors leave it
      int end = text.indexOf('\n', at);
      return end < 0 ? text.length() : end;
    }
    if (text.startsWith("/*", at)) {
      int end = text.indexOf("*/", at + 2);
      return end < 0 ? UNCLOSED : end + 2;
    }
    int end = at;
    while (end < text.length() && Character.isWhitespace(text.charAt(end))) {
      end++;
    }
    return end;
  }

  /**
   * Returns the end of the word that begins here; {@code ::} belongs to it if a letter or digit
   * follows. A word that begins with a dot ends before the next dot: {@code .reg.v4.u16} is three.
   */
  private static int word(String text, int at) {
    int end = at + 1;
    var marks = text.charAt(at) == '.' ? "_$" : "_$.";
    while (end < text.length()) {
      char c = text.charAt(end);
      if (isLetter(c) || isDigit(c) || marks.indexOf(c) >= 0) {
        end++;
      } else if (text.startsWith("::", end)
          && end + 2 < text.length()
          && (isLetter(text.charAt(end + 2)) || isDigit(text.charAt(end + 2)))) {
        end += 3;
      } else {
        break;
      }
    }
    return end;
  }

  private static boolean isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }
}
