/** How native libraries that come in a jar reach this process. */
@NullMarked
package dev.athanor.engine.natives;

import org.jspecify.annotations.NullMarked;
