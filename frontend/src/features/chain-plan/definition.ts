import { chainFrame } from '../../shared/chain-draft/chain-frame.js';
import type { PageDefinition } from '../../shared/page/definition.js';

export const chainPlanPage: PageDefinition = {
  path: '/chains/:id/plan',
  title: 'Plan',
  role: 'operator',
  frame: chainFrame,
  load: () => import('./page.js'),
};
