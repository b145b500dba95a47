import { IconRouteSquare } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const serviceRequestsPage: PageDefinition = {
  path: '/service-requests',
  title: 'Service requests',
  navigation: {
    group: 'main',
    icon: IconRouteSquare,
    letter: 'q',
    words: ['SLA', 'chaining', 'pools', 'shared instances', 'HYPER'],
  },
  load: () => import('./page.js'),
};
