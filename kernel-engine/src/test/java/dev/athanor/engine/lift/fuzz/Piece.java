package dev.athanor.engine.lift.fuzz;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A piece of a program's text: words and smaller pieces. Pieces are told apart by identity.
 *
 * @param kind what a shrinker may do with it
 * @param type of an expression; null for the rest
 * @param parts strings and pieces
 */
record Piece(Kind kind, @Nullable Type type, List<Object> parts) {
  enum Kind {
    /** Can be replaced by a part of the same type, or by a constant. */
    EXPRESSION,
    /** An expression that is the same in all threads: can be replaced by a constant. */
    UNIFORM,
    /** Can be left out, or replaced by the statements in it. */
    STATEMENT,
    /** Stays; its parts may change. */
    FIXED
  }

  static Piece expression(Type type, Object... parts) {
    return new Piece(Kind.EXPRESSION, type, List.of(parts));
  }

  static Piece uniform(Type type, Object... parts) {
    return new Piece(Kind.UNIFORM, type, List.of(parts));
  }

  static Piece statement(Object... parts) {
    return new Piece(Kind.STATEMENT, null, List.of(parts));
  }

  static Piece fixed(Object... parts) {
    return new Piece(Kind.FIXED, null, List.of(parts));
  }

  /** Returns this piece and all smaller ones, outer pieces first. */
  Stream<Piece> all() {
    return Stream.concat(
        Stream.of(this),
        parts.stream().flatMap(part -> part instanceof Piece piece ? piece.all() : Stream.of()));
  }

  /** Returns the pieces of a kind below this one that are in no other of that kind. */
  List<Piece> outermost(Kind wanted) {
    var found = new ArrayList<Piece>();
    for (var part : parts) {
      if (part instanceof Piece piece) {
        if (piece.kind == wanted) {
          found.add(piece);
        } else {
          found.addAll(piece.outermost(wanted));
        }
      }
    }
    return found;
  }

  /** Returns this piece with one piece in it, or itself, replaced by another. */
  @SuppressWarnings("ReferenceEquality") // equal pieces may be elsewhere
  Piece with(Piece old, Piece replacement) {
    if (this == old) {
      return replacement;
    }
    boolean same = true;
    var changed = new ArrayList<>(parts);
    for (int i = 0; i < changed.size(); i++) {
      if (parts.get(i) instanceof Piece piece) {
        var after = piece.with(old, replacement);
        same &= after == piece;
        changed.set(i, after);
      }
    }
    return same ? this : new Piece(kind, type, List.copyOf(changed));
  }

  /** Returns the length of the text, by which programs are compared. */
  int size() {
    return text().length();
  }

  String text() {
    var text = new StringBuilder();
    write(text);
    return text.toString();
  }

  private void write(StringBuilder text) {
    for (var part : parts) {
      if (part instanceof Piece piece) {
        piece.write(text);
      } else {
        text.append(part);
      }
    }
  }
}
