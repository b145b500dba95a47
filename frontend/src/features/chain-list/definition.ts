import { IconHierarchy2 } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const chainListPage: PageDefinition = {
  path: '/chains',
  title: 'Chains',
  navigation: { group: 'main', icon: IconHierarchy2, letter: 'c', words: ['new chain', 'templates'] },
  load: () => import('./page.js'),
};
