/** Who holds what: the algebra of tiles and fragments, without any device. */
@NullMarked
package dev.athanor.engine.layout;

import org.jspecify.annotations.NullMarked;
