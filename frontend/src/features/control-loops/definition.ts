import { IconRepeat } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const controlLoopsPage: PageDefinition = {
  path: '/control-loops',
  title: 'Control loops',
  navigation: {
    group: 'observe',
    icon: IconRepeat,
    letter: 'r',
    words: ['loops', 'automation', 'pause', 'reconciler'],
  },
  load: () => import('./page.js'),
};
