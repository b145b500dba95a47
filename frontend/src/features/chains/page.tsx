import '../../editor-model/schema-settings.js';
import { lazy, Suspense } from 'react';
import { Route, Routes } from 'react-router';
import { LoadingRows } from '../../shared/ui/states.js';
import { ChainList } from './chain-list.js';

const EditorPage = lazy(() => import('./editor-page.js'));

export function Component() {
  return (
    <Routes>
      <Route index element={<ChainList />} />
      <Route
        path=":id/*"
        element={
          <Suspense fallback={<LoadingRows />}>
            <EditorPage />
          </Suspense>
        }
      />
    </Routes>
  );
}
