import type { PageFrame } from '../page/definition.js';

/** Keeps the draft of `:id`, with undo history and unsaved changes, across the pages of one chain. */
export const chainFrame: PageFrame = { load: () => import('./frame.js') };
