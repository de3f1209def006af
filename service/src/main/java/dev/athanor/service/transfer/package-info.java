/** Uploads and downloads of tensors, and device placement. */
@NullMarked
package dev.athanor.service.transfer;

import org.jspecify.annotations.NullMarked;
