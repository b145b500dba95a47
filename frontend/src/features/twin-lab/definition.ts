import { IconBolt } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const twinLabPage: PageDefinition = {
  path: '/twin',
  title: 'Twin lab',
  navigation: {
    group: 'twin',
    icon: IconBolt,
    letter: 'l',
    words: ['traffic', 'faults', 'scenarios', 'packet capture', 'pcap'],
  },
  load: () => import('./page.js'),
};
