import { IconListCheck } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const operationsPage: PageDefinition = {
  path: '/operations',
  title: 'Operations',
  navigation: { group: 'observe', icon: IconListCheck, letter: 'p', words: ['deployments', 'roll back'] },
  load: () => import('./page.js'),
};
