/** The commands that need no server. Nothing else prints. */
@NullMarked
package dev.athanor.service.cli;

import org.jspecify.annotations.NullMarked;
