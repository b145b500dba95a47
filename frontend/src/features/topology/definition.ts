import { IconTopologyStar3 } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const topologyPage: PageDefinition = {
  path: '/topology',
  title: 'Topology',
  navigation: {
    group: 'observe',
    icon: IconTopologyStar3,
    letter: 't',
    words: ['servers', 'switches', 'links', 'hosts'],
  },
  load: () => import('./page.js'),
};
