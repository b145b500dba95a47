import { type ComponentType, lazy, Suspense, useMemo } from 'react';
import { LoadingRows } from '../shared/ui/states.js';

interface LazyPageProps {
  readonly load: () => Promise<{ readonly Component: ComponentType }>;
}

/** A page whose code is read when it is first opened; the shell is there meanwhile. */
export function LazyPage({ load }: LazyPageProps) {
  const Page = useMemo(() => lazy(async () => ({ default: (await load()).Component })), [load]);
  return (
    <Suspense fallback={<LoadingRows />}>
      <Page />
    </Suspense>
  );
}
