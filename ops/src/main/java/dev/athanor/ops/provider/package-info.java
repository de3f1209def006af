/** The provider of the ops of this library. */
@NullMarked
package dev.athanor.ops.provider;

import org.jspecify.annotations.NullMarked;
