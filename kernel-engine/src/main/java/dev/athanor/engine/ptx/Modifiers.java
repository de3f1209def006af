package dev.athanor.engine.ptx;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The modifiers of an instruction, in the order of its row. */
public record Modifiers(List<Modifier> list) {
  public Modifiers {
    list = List.copyOf(list);
  }

  /** Returns the first modifier of a kind, such as {@link Modifier.Rounding}. */
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

  /** Returns the accessed parts of an operand and its negation. */
  public List<Modifier.Part> parts(String operand) {
    return list.stream()
        .filter(Modifier.Part.class::isInstance)
        .map(Modifier.Part.class::cast)
        .filter(part -> part.operand().equals(operand))
        .toList();
  }

  /** Returns the modifiers that are written after the mnemonic. */
  Modifiers ofOpcode() {
    return list.stream().anyMatch(Modifier.Part.class::isInstance)
        ? new Modifiers(list.stream().filter(m -> !(m instanceof Modifier.Part)).toList())
        : this;
  }

  /** Returns the types in written order: f16, f32 for {@code cvt.rn.f16.f32}. */
  public List<Type> types() {
    return list.stream().filter(Type.class::isInstance).map(Type.class::cast).toList();
  }

  /** Returns the operation type, which is the last one. */
  public Optional<Type> type() {
    for (int i = list.size() - 1; i >= 0; i--) {
      if (list.get(i) instanceof Type type) {
        return Optional.of(type);
      }
    }
    return Optional.empty();
  }

  /**
   * Returns the registers of a vector operand: 2 for {@code .v2}, 4 for {@code .v4}, 8 for {@code
   * .v8}, else 1.
   */
  public int vectorLength() {
    return has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
  }

  /** Returns the number of dimensions of a tensor copy: 2 for {@code .2d}; 0 if absent. */
  public int dimensions() {
    return list.stream()
        .map(Modifier::word)
        .filter(word -> word.matches("[1-5]d"))
        .mapToInt(word -> word.charAt(0) - '0')
        .findFirst()
        .orElse(0);
  }

  /** Returns the dotted text, such as {@code .rn.ftz.f32}. */
  @Override
  public String toString() {
    return list.stream().map(m -> "." + m.word()).collect(Collectors.joining());
  }
}
