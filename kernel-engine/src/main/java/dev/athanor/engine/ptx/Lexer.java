package dev.athanor.engine.ptx;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Splits PTX text into tokens (PTX ISA 4). */
final class Lexer {

  /** What a token is. */
  enum Kind {
    /**
     * A name, a directive or an opcode with its modifiers: {@code %r1}, {@code .reg}, {@code
     * fma.rn.f32}.
     */
    WORD,
    NUMBER,
    PUNCTUATION,
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

  private static final Pattern SPACE = Pattern.compile("\\s+|//[^\\n]*|(?s)/\\*.*?\\*/");
  private static final Pattern WORD =
      Pattern.compile("[A-Za-z_$%.][A-Za-z0-9_$.]*+(?:::[A-Za-z0-9_.]+)*+");
  private static final Pattern NUMBER =
      Pattern.compile(
          "0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?"
              + "|[0-9]+\\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+U?");
  private static final String PUNCTUATION = "{}[]()<>,;:@!|+-=";

  private Lexer() {}

  static List<Token> tokens(String text, String file) {
    var tokens = new ArrayList<Token>();
    var space = SPACE.matcher(text);
    var word = WORD.matcher(text);
    var number = NUMBER.matcher(text);
    int line = 1;
    int lineStart = 0;
    for (int at = 0; at < text.length(); ) {
      int end;
      var source = new Source(file, line, at - lineStart + 1);
      if (space.region(at, text.length()).lookingAt()) {
        end = space.end();
        for (int i = at; i < end; i++) {
          if (text.charAt(i) == '\n') {
            line++;
            lineStart = i + 1;
          }
        }
      } else if (word.region(at, text.length()).lookingAt()) {
        end = word.end();
        tokens.add(new Token(Kind.WORD, word.group(), source));
      } else if (number.region(at, text.length()).lookingAt()) {
        end = number.end();
        tokens.add(new Token(Kind.NUMBER, number.group(), source));
      } else if (PUNCTUATION.indexOf(text.charAt(at)) >= 0) {
        end = at + 1;
        tokens.add(new Token(Kind.PUNCTUATION, text.substring(at, end), source));
      } else {
        throw new PtxSyntaxException(
            source,
            "the character \"%s\" has no place in PTX".formatted(text.substring(at, at + 1)));
      }
      at = end;
    }
    tokens.add(new Token(Kind.END, "", new Source(file, line, text.length() - lineStart + 1)));
    return tokens;
  }
}
