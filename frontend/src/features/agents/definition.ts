import { IconServerBolt } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const agentsPage: PageDefinition = {
  path: '/agents',
  title: 'Agents',
  navigation: {
    group: 'system',
    icon: IconServerBolt,
    letter: 'g',
    words: ['nodes', 'servers', 'join token', 'enrol', 'credential', 'revoke', 'last seen', 'version'],
  },
  load: () => import('./page.js'),
};
