import { IconCpu2 } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const acceleratorsPage: PageDefinition = {
  path: '/accelerators',
  title: 'Accelerators',
  navigation: {
    group: 'observe',
    icon: IconCpu2,
    letter: 'a',
    words: ['FPGA', 'boards', 'slots', 'policies', 'leases', 'lent accelerators', 'tunnels'],
  },
  load: () => import('./page.js'),
};
