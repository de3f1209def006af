/** The API of users and plugins: ops, their descriptions, problems, plans and tensors. */
@NullMarked
package dev.athanor.ops;

import org.jspecify.annotations.NullMarked;
