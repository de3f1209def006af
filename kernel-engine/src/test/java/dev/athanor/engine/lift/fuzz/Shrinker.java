package dev.athanor.engine.lift.fuzz;

import dev.athanor.engine.lift.fuzz.Piece.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;

/** Makes a program smaller while it keeps a property: one change at a time, large ones first. */
@SuppressWarnings("ReferenceEquality") // equal pieces may be elsewhere
final class Shrinker {
  private final Predicate<Piece> property;
  private int attempts;

  /**
   * Creates a shrinker.
   *
   * @param attempts most programs to try
   */
  Shrinker(Predicate<Piece> property, int attempts) {
    this.property = property;
    this.attempts = attempts;
  }

  /** Returns a program with the property to which no single change applies. */
  Piece shrink(Piece program) {
    var smallest = program;
    boolean progress = true;
    while (progress && attempts > 0) {
      progress = false;
      var pieces = new ArrayList<>(smallest.all().toList());
      pieces.sort(Comparator.comparingInt(Piece::size).reversed());
      for (var piece : pieces) {
        for (var smaller : smaller(piece)) {
          var candidate = smallest.with(piece, smaller);
          if (candidate != smallest
              && candidate.size() < smallest.size()
              && attempts-- > 0
              && property.test(candidate)) {
            smallest = candidate;
            progress = true;
            break;
          }
        }
      }
    }
    return smallest;
  }

  private static List<Piece> smaller(Piece piece) {
    var found = new ArrayList<Piece>();
    var type = piece.type();
    switch (piece.kind()) {
      case STATEMENT -> {
        found.add(Piece.fixed());
        var inner = piece.outermost(Kind.STATEMENT);
        if (!inner.isEmpty()) {
          found.add(Piece.fixed(inner.toArray()));
        }
      }
      case EXPRESSION, UNIFORM -> {
        if (type != null) {
          type.constants().forEach(word -> found.add(Piece.uniform(type, word)));
          piece
              .all()
              .filter(part -> part != piece && part.kind() == piece.kind() && part.type() == type)
              .forEach(found::add);
        }
      }
      case FIXED -> {}
    }
    return found;
  }
}
