import { IconWebhook } from '@tabler/icons-react';
import type { PageDefinition } from '../../shared/page/definition.js';

export const webhooksPage: PageDefinition = {
  path: '/webhooks',
  title: 'Webhooks',
  role: 'admin',
  navigation: {
    group: 'system',
    icon: IconWebhook,
    letter: 'h',
    words: ['alerts', 'notifications', 'pager', 'http', 'export', 'integration'],
  },
  load: () => import('./page.js'),
};
