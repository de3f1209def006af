/** The types that users and plugins see: ops, their descriptions, problems, plans and tensors. */
@NullMarked
package dev.athanor.ops;

import org.jspecify.annotations.NullMarked;
