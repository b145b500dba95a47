import { IconLayoutDashboard } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const overviewPage: PageDefinition = {
  path: '/',
  title: 'Overview',
  navigation: { group: 'main', icon: IconLayoutDashboard, letter: 'o', words: ['home', 'status'] },
  load: () => import('./page.js'),
};
