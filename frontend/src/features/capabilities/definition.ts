import { IconPlugConnected } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const capabilitiesPage: PageDefinition = {
  path: '/capabilities',
  title: 'Capabilities',
  navigation: {
    group: 'system',
    icon: IconPlugConnected,
    letter: 'b',
    words: ['machine', 'kernel', 'Docker', 'agents'],
  },
  load: () => import('./page.js'),
};
