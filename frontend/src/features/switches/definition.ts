import { IconSwitch2 } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const switchesPage: PageDefinition = {
  path: '/switches',
  title: 'Switches',
  navigation: {
    group: 'observe',
    icon: IconSwitch2,
    letter: 'w',
    words: ['tables', 'entries', 'rules', 'flows', 'fabric', 'Open vSwitch', 'P4'],
  },
  load: () => import('./page.js'),
};
