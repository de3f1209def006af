package dev.athanor.service.model;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The versions of a model.
 *
 * @param all by number; at least one
 * @param defaultVersion the version of calls that name none
 */
record ModelVersions(NavigableMap<Long, StoredModel> all, long defaultVersion) {

  ModelVersions {
    all = Collections.unmodifiableNavigableMap(new TreeMap<>(all));
  }

  /** Returns the model that calls use which name no version. */
  StoredModel standard() {
    return Objects.requireNonNull(all.get(defaultVersion));
  }

  static ModelVersions of(StoredModel only) {
    return new ModelVersions(new TreeMap<>(Map.of(only.version(), only)), only.version());
  }

  /** Returns these versions and another one, which is the default if it is the newest. */
  ModelVersions with(StoredModel model) {
    var more = new TreeMap<>(all);
    more.put(model.version(), model);
    return new ModelVersions(
        more, more.lastKey() == model.version() ? model.version() : defaultVersion);
  }

  ModelVersions withDefault(long version) {
    return new ModelVersions(all, version);
  }

  /** Returns these versions without one of several; the newest becomes the default if need be. */
  ModelVersions without(long version) {
    var fewer = new TreeMap<>(all);
    fewer.remove(version);
    return new ModelVersions(fewer, version == defaultVersion ? fewer.lastKey() : defaultVersion);
  }

  /** Returns the versions beyond a number, the oldest first, but never the default. */
  List<Long> beyond(int most) {
    return all.keySet().stream()
        .filter(version -> version != defaultVersion)
        .limit(Math.max(all.size() - most, 0))
        .toList();
  }
}
