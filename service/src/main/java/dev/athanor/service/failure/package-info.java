/** What a request can fail with, whatever protocol it came by. */
@NullMarked
package dev.athanor.service.failure;

import org.jspecify.annotations.NullMarked;
