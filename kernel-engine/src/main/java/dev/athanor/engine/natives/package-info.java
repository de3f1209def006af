/** Loads native libraries that are packaged in jars. */
@NullMarked
package dev.athanor.engine.natives;

import org.jspecify.annotations.NullMarked;
