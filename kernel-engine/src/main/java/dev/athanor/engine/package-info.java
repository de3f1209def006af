/** The kernel engine: its packages hold PTX, ways to author it, and devices that run it. */
@NullMarked
package dev.athanor.engine;

import org.jspecify.annotations.NullMarked;
