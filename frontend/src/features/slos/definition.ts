import { IconTargetArrow } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const slosPage: PageDefinition = {
  path: '/slos',
  title: 'SLOs',
  navigation: {
    group: 'observe',
    icon: IconTargetArrow,
    letter: 's',
    words: ['objectives', 'latency', 'throughput', 'budget', 'alerts'],
  },
  load: () => import('./page.js'),
};
