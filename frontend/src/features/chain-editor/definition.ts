import { chainFrame } from '../../shared/chain-draft/chain-frame.js';
import type { PageDefinition } from '../../shared/page/definition.js';

export const chainEditorPage: PageDefinition = {
  path: '/chains/:id',
  title: 'Chain editor',
  frame: chainFrame,
  load: () => import('./page.js'),
};
