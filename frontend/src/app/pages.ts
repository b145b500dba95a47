import {
  IconActivityHeartbeat,
  IconBolt,
  IconBooks,
  IconCpu2,
  IconHierarchy2,
  IconLayoutDashboard,
  IconListCheck,
  IconPlugConnected,
  IconTargetArrow,
  IconTopologyStar3,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';

export interface PageDefinition {
  readonly path: string;
  readonly title: string;
  readonly section: 'main' | 'observe' | 'twin' | 'system';
  readonly icon: ComponentType<{ size?: number; stroke?: number }>;
  /** Typed after `g`. */
  readonly letter: string;
  /** The module's `Component` is the page; `/*` lets it have routes of its own. */
  readonly load: () => Promise<{ readonly Component: ComponentType }>;
}

/** A page is one folder under `features` and one entry here, in the order of the navigation. */
export const PAGES: readonly PageDefinition[] = [
  {
    path: '/',
    title: 'Overview',
    section: 'main',
    icon: IconLayoutDashboard,
    letter: 'o',
    load: () => import('../features/overview/page.js'),
  },
  {
    path: '/chains',
    title: 'Chains',
    section: 'main',
    icon: IconHierarchy2,
    letter: 'c',
    load: () => import('../features/chains/page.js'),
  },
  {
    path: '/catalogue',
    title: 'Catalogue',
    section: 'main',
    icon: IconBooks,
    letter: 'n',
    load: () => import('../features/catalogue/page.js'),
  },
  {
    path: '/topology',
    title: 'Topology',
    section: 'observe',
    icon: IconTopologyStar3,
    letter: 't',
    load: () => import('../features/topology/page.js'),
  },
  {
    path: '/accelerators',
    title: 'Accelerators',
    section: 'observe',
    icon: IconCpu2,
    letter: 'a',
    load: () => import('../features/accelerators/page.js'),
  },
  {
    path: '/slos',
    title: 'SLOs',
    section: 'observe',
    icon: IconTargetArrow,
    letter: 's',
    load: () => import('../features/slos/page.js'),
  },
  {
    path: '/events',
    title: 'Events',
    section: 'observe',
    icon: IconActivityHeartbeat,
    letter: 'e',
    load: () => import('../features/events/page.js'),
  },
  {
    path: '/operations',
    title: 'Operations',
    section: 'observe',
    icon: IconListCheck,
    letter: 'p',
    load: () => import('../features/operations/page.js'),
  },
  {
    path: '/twin',
    title: 'Twin lab',
    section: 'twin',
    icon: IconBolt,
    letter: 'l',
    load: () => import('../features/twin-lab/page.js'),
  },
  {
    path: '/capabilities',
    title: 'Capabilities',
    section: 'system',
    icon: IconPlugConnected,
    letter: 'b',
    load: () => import('../features/capabilities/page.js'),
  },
];

export const SECTIONS: readonly { readonly id: PageDefinition['section']; readonly title: string | null }[] = [
  { id: 'main', title: null },
  { id: 'observe', title: 'Observe' },
  { id: 'twin', title: 'Digital twin' },
  { id: 'system', title: 'System' },
];

/** The server's own page that describes and tries the API. */
export const API_REFERENCE = { path: '/api/docs', title: 'API reference', section: 'system' } as const;
