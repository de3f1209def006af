package dev.athanor.service.model;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
import dev.athanor.models.checkpoint.Checkpoints;
import dev.athanor.models.onnx.OnnxModel;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.service.codec.Gguf;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.service.failure.Failure;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/** The files of a model by their paths in its folder. The files decide what kind of model it is. */
final class ModelFiles {

  /** The path of an ONNX file that comes alone. */
  static final String ONNX = "model.onnx";

  /** The path of a graph that comes alone. */
  static final String GRAPH = "graph.json";

  private static final String CONFIG = "config.json";
  private static final String SAFETENSORS = ".safetensors";
  private static final String GGUF = ".gguf";
  private static final String WEIGHTS = "model" + SAFETENSORS;

  /** Tells which files of a checkpoint have which tensors. */
  private static final String INDEX = WEIGHTS + ".index.json";

  /** Maximum size of a text file. */
  private static final int LONGEST_TEXT = 1 << 24;

  /** Maximum number of files that messages list. */
  private static final int MOST_LISTED = 10;

  private final SortedMap<String, MemorySegment> files;

  ModelFiles(Map<String, MemorySegment> files) {
    this.files = new TreeMap<>(files);
  }

  SortedMap<String, MemorySegment> all() {
    return Collections.unmodifiableSortedMap(files);
  }

  /**
   * Returns the model. Its weights are views of the files.
   *
   * @throws ModelException if the files are not a model, or not one that is supported
   * @throws Failure if a file of a checkpoint or a graph is malformed
   */
  ModelDefinition definition(Catalogue catalogue) throws IOException {
    var graphs = top(".onnx");
    if (graphs.size() == 1 || graphs.contains(ONNX)) {
      return OnnxModel.read(file(graphs.size() == 1 ? graphs.getFirst() : ONNX), files);
    }
    if (files.containsKey(GRAPH)) {
      var tensors = new ArrayList<>(top(SAFETENSORS));
      tensors.addAll(top(GGUF));
      return GraphFile.read(catalogue, text(GRAPH), tensors(tensors));
    }
    if (files.containsKey(CONFIG)) {
      return Checkpoints.read(Json.members(text(CONFIG), CONFIG), tensors(shards()));
    }
    throw new ModelException.Malformed(
        "the files are not a model; there must be %s, one other ONNX file, %s, or %s at the top, got: %s"
            .formatted(
                ONNX,
                GRAPH,
                CONFIG,
                String.join(", ", files.keySet().stream().limit(MOST_LISTED).toList())));
  }

  /**
   * Returns the model.
   *
   * @throws Failure if the files are not a model, or not one that is supported
   */
  ModelDefinition checkedDefinition(Catalogue catalogue) throws IOException {
    try {
      return definition(catalogue);
    } catch (ModelException e) {
      throw ModelFailures.explain(e);
    }
  }

  /** Returns the files at the top whose names have an ending. */
  private List<String> top(String ending) {
    return files.keySet().stream()
        .filter(name -> name.endsWith(ending) && name.indexOf('/') < 0)
        .toList();
  }

  private MemorySegment file(String name) {
    var file = files.get(name);
    if (file == null) {
      throw new ModelException.Malformed("the model's folder has no file \"%s\"".formatted(name));
    }
    return file;
  }

  private InputStream text(String name) {
    var file = file(name);
    if (file.byteSize() > LONGEST_TEXT) {
      throw new ModelException.Malformed(
          "the file %s has %d bytes; the limit is %d"
              .formatted(name, file.byteSize(), LONGEST_TEXT));
    }
    return new ByteArrayInputStream(file.toArray(ValueLayout.JAVA_BYTE));
  }

  /** Returns the tensors of files by name. */
  private Map<String, HostTensor> tensors(Collection<String> names) throws IOException {
    var tensors = new LinkedHashMap<String, HostTensor>();
    for (var name : names) {
      for (var tensor : tensors(name).entrySet()) {
        if (tensors.put(tensor.getKey(), tensor.getValue()) != null) {
          throw new ModelException.Malformed(
              "the tensor \"%s\" is in %s and in another file; there must be one"
                  .formatted(tensor.getKey(), name));
        }
      }
    }
    return tensors;
  }

  private Map<String, HostTensor> tensors(String name) throws IOException {
    try {
      return name.endsWith(GGUF) ? Gguf.read(file(name)) : Safetensors.read(file(name));
    } catch (Failure e) {
      throw new ModelException.Malformed("the file %s: %s".formatted(name, e.getMessage()));
    }
  }

  /** Returns the names of the files with tensors. */
  private Collection<String> shards() throws IOException {
    if (files.containsKey(WEIGHTS)) {
      return List.of(WEIGHTS);
    }
    if (!files.containsKey(INDEX)) {
      return top(SAFETENSORS);
    }
    var shards = new TreeSet<String>();
    if (Json.members(text(INDEX), INDEX).get("weight_map") instanceof Map<?, ?> map) {
      map.values().forEach(file -> shards.add(String.valueOf(file)));
    }
    return shards;
  }
}
