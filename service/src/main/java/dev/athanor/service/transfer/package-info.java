/** Uploads and downloads of tensors, and the choice of a device for them. */
@NullMarked
package dev.athanor.service.transfer;

import org.jspecify.annotations.NullMarked;
