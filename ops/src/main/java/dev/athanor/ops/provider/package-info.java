/** The provider of the built-in ops. */
@NullMarked
package dev.athanor.ops.provider;

import org.jspecify.annotations.NullMarked;
