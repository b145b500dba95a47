import { IconActivityHeartbeat } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const eventsPage: PageDefinition = {
  path: '/events',
  title: 'Events',
  navigation: { group: 'observe', icon: IconActivityHeartbeat, letter: 'e', words: ['log', 'history'] },
  load: () => import('./page.js'),
};
