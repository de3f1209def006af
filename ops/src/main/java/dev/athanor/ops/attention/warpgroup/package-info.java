/**
 * Attention on Hopper, after FlashAttention-3 (Shah et al., 2024). The warpgroups of a block have
 * roles: one copies with the tensor memory accelerator, the others multiply with {@code wgmma}.
 */
@NullMarked
package dev.athanor.ops.attention.warpgroup;

import org.jspecify.annotations.NullMarked;
