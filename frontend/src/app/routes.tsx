import { type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import type { RouteObject } from 'react-router';
import { useMay } from '../shared/api/session.js';
import { CurrentPageProvider } from '../shared/page/current-page.js';
import type { LoadComponent, PageDefinition, PageFrame } from '../shared/page/definition.js';
import { PageHeader } from '../shared/page/page-header.js';
import { EmptyState, LoadingRows } from '../shared/ui/states.js';
import { RouteError } from './route-error.js';

/** Its code is loaded when it is first shown; the shell is visible in the meantime. */
function lazily(load: LoadComponent): ReactNode {
  const Loaded: ComponentType = lazy(async () => ({ default: (await load()).Component }));
  return (
    <Suspense fallback={<LoadingRows />}>
      <Loaded />
    </Suspense>
  );
}

function Guarded({ page, children }: { readonly page: PageDefinition; readonly children: ReactNode }) {
  const { role = 'viewer' } = page;
  const may = useMay(role);
  return (
    <CurrentPageProvider value={page}>
      {may ? (
        children
      ) : (
        <>
          <PageHeader />
          <EmptyState title={`This page needs the role ${role}`}>Ask an administrator of this project.</EmptyState>
        </>
      )}
    </CurrentPageProvider>
  );
}

const routeOf = (page: PageDefinition): RouteObject => ({
  path: page.path,
  element: (
    <Guarded key={page.path} page={page}>
      {lazily(page.load)}
    </Guarded>
  ),
  errorElement: <RouteError />,
});

/** The routes of all pages; pages with the same frame are nested in it. */
export function pageRoutes(pages: readonly PageDefinition[]): RouteObject[] {
  const framed = new Map<PageFrame, RouteObject[]>();
  const routes: RouteObject[] = [];
  for (const page of pages) {
    const inFrame = page.frame && framed.get(page.frame);
    if (!page.frame) routes.push(routeOf(page));
    else if (inFrame) inFrame.push(routeOf(page));
    else {
      const children = [routeOf(page)];
      framed.set(page.frame, children);
      routes.push({ element: lazily(page.frame.load), errorElement: <RouteError />, children });
    }
  }
  return routes;
}
