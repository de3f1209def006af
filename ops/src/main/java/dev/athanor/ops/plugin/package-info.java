/** Ops from jars. */
@NullMarked
package dev.athanor.ops.plugin;

import org.jspecify.annotations.NullMarked;
