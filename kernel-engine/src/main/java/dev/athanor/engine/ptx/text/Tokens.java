package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.text.Lexer.Kind;
import dev.athanor.engine.ptx.text.Lexer.Token;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** The tokens of a text, with a read position. */
final class Tokens {

  /** More than any compiler emits, and too little to overflow the stack. */
  private static final int MAX_EXPRESSION_DEPTH = 64;

  /** The same for scopes, which need less stack. */
  private static final int MAX_SCOPE_DEPTH = 512;

  private final List<Token> tokens;
  private int next;
  private int depth;
  private int scopes;

  Tokens(List<Token> tokens) {
    this.tokens = tokens;
  }

  int position() {
    return next;
  }

  Token at(int position) {
    return tokens.get(Math.min(position, tokens.size() - 1));
  }

  Token peek() {
    return tokens.get(next);
  }

  Token take() {
    var token = tokens.get(next);
    if (token.kind() != Kind.END) {
      next++;
    }
    return token;
  }

  Token take(Kind kind) {
    var token = take();
    if (token.kind() != kind) {
      throw expected(token, "a " + kind.name().toLowerCase(Locale.ROOT));
    }
    return token;
  }

  /** Takes a punctuation mark or a word, if it is the next token. */
  boolean takeIf(String text) {
    boolean there = peek().text().equals(text) && peek().kind() != Kind.STRING;
    if (there) {
      take();
    }
    return there;
  }

  void expect(String punctuation) {
    var token = take();
    if (!token.is(punctuation)) {
      throw expected(token, "\"" + punctuation + "\"");
    }
  }

  void expectWord(String word) {
    var token = take();
    if (!token.text().equals(word)) {
      throw expected(token, word);
    }
  }

  String name() {
    var token = take();
    if (token.kind() != Kind.WORD || token.text().startsWith(".") || token.text().equals("%")) {
      throw expected(token, "a name");
    }
    return token.text();
  }

  Type type() {
    var token = take();
    if (token.text().matches("\\.(texref|samplerref|surfref)")) {
      throw error(token, "textures and surfaces are not supported; read global memory instead");
    }
    if (token.text().startsWith(".")
        && Modifier.of(token.text().substring(1)) instanceof Type type) {
      return type;
    }
    throw expected(token, "a type such as .b32");
  }

  /** Converts one token; an {@link IllegalArgumentException} of the reader is a syntax error. */
  <T> T read(Function<String, T> reader) {
    var token = take();
    try {
      return reader.apply(token.text());
    } catch (IllegalArgumentException e) {
      throw error(token, String.valueOf(e.getMessage()));
    }
  }

  /** Counts one level of nested expressions, until {@link #leave}. */
  void enter() {
    if (++depth > MAX_EXPRESSION_DEPTH) {
      throw error(peek(), "nested more than " + MAX_EXPRESSION_DEPTH + " deep");
    }
  }

  /** Counts one level of nested scopes, until {@link #leaveScope}. */
  void enterScope() {
    if (++scopes > MAX_SCOPE_DEPTH) {
      throw error(peek(), "nested more than " + MAX_SCOPE_DEPTH + " deep");
    }
  }

  void leaveScope() {
    scopes--;
  }

  void leave() {
    depth--;
  }

  static PtxSyntaxException expected(Token got, String right) {
    return error(got, "expected " + right + ", got " + got);
  }

  static PtxSyntaxException error(Token at, String problem) {
    return new PtxSyntaxException(at.source(), problem);
  }
}
