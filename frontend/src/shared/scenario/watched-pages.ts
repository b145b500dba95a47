import type { WatchedPage } from '@orrery/contract';

/** Where a page is, and its title. */
export const WATCHED_PAGES: Readonly<Record<WatchedPage, { readonly path: string; readonly title: string }>> = {
  accelerators: { path: '/accelerators', title: 'Accelerators' },
  parallelism: { path: '/parallelism', title: 'Parallelism' },
  slos: { path: '/slos', title: 'SLOs' },
  topology: { path: '/topology', title: 'Topology' },
};
