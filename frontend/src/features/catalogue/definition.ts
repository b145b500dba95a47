import { IconBooks } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const cataloguePage: PageDefinition = {
  path: '/catalogue',
  title: 'Catalogue',
  navigation: { group: 'main', icon: IconBooks, letter: 'n', words: ['network functions', 'NF descriptors', 'VNFD'] },
  load: () => import('./page.js'),
};
