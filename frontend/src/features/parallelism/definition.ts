import { IconArrowsSplit2 } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const parallelismPage: PageDefinition = {
  path: '/parallelism',
  title: 'Parallelism',
  navigation: {
    group: 'observe',
    icon: IconArrowsSplit2,
    letter: 'm',
    words: ['mirror', 'merge', 'copies', 'branches', 'critical path', 'execution', 'HydraNF'],
  },
  load: () => import('./page.js'),
};
