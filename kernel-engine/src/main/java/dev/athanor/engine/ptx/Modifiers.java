package dev.athanor.engine.ptx;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The modifiers of one instruction, in the order of its row. */
public record Modifiers(List<Modifier> list) {

  public Modifiers {
    list = List.copyOf(list);
  }

  /** The first modifier of a kind, for instance its {@link Modifier.Rounding}. */
  public <M extends Modifier> Optional<M> find(Class<M> kind) {
    for (var modifier : list) {
      if (kind.isInstance(modifier)) {
        return Optional.of(kind.cast(modifier));
      }
    }
    return Optional.empty();
  }

  public boolean has(String word) {
    for (var modifier : list) {
      if (modifier.word().equals(word)) {
        return true;
      }
    }
    return false;
  }

  /** The parts of an operand that are read or written, and whether it is negated. */
  public List<Modifier.Part> parts(String operand) {
    return list.stream()
        .filter(Modifier.Part.class::isInstance)
        .map(Modifier.Part.class::cast)
        .filter(part -> part.operand().equals(operand))
        .toList();
  }

  /** The modifiers that text has at the opcode. */
  Modifiers ofOpcode() {
    return list.stream().anyMatch(Modifier.Part.class::isInstance)
        ? new Modifiers(list.stream().filter(m -> !(m instanceof Modifier.Part)).toList())
        : this;
  }

  /** The types as written, outermost first: {@code cvt.rn.f16.f32} answers f16, f32. */
  public List<Type> types() {
    return list.stream().filter(Type.class::isInstance).map(Type.class::cast).toList();
  }

  /** The operation type, which is the last type written. */
  public Optional<Type> type() {
    for (int i = list.size() - 1; i >= 0; i--) {
      if (list.get(i) instanceof Type type) {
        return Optional.of(type);
      }
    }
    return Optional.empty();
  }

  /**
   * How many registers a vector operand of the instruction holds: 2 for {@code .v2}, 4 for {@code
   * .v4}, 8 for {@code .v8}, else 1.
   */
  public int vectorLength() {
    return has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
  }

  /** How many dimensions a tensor copy has: 2 for {@code .2d}; 0 where no word says. */
  public int dimensions() {
    return list.stream()
        .map(Modifier::word)
        .filter(word -> word.matches("[1-5]d"))
        .mapToInt(word -> word.charAt(0) - '0')
        .findFirst()
        .orElse(0);
  }

  /** The dotted text, {@code .rn.ftz.f32}. */
  @Override
  public String toString() {
    return list.stream().map(m -> "." + m.word()).collect(Collectors.joining());
  }
}
