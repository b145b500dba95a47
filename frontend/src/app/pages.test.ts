import { expect, test } from 'vitest';
import type { PageDefinition } from '../shared/page/definition.js';
import { WATCHED_PAGES } from '../shared/scenario/watched-pages.js';
import { PAGES } from './pages.js';
import { pageRoutes } from './routes.js';

const duplicates = (values: readonly string[]) => values.filter((value, index) => values.indexOf(value) !== index);

test('every page that a folder defines is registered once', () => {
  const folders = import.meta.glob<Record<string, PageDefinition>>('../features/*/definition.ts', { eager: true });
  const defined = Object.values(folders).flatMap((module) => Object.values(module));
  expect(new Set(PAGES)).toEqual(new Set(defined));
  expect(PAGES).toHaveLength(defined.length);
  expect(Object.keys(import.meta.glob('../features/*/page.tsx'))).toHaveLength(PAGES.length);
});

test('no two pages share an address, a title or a shortcut', () => {
  expect(duplicates(PAGES.map(({ path }) => path))).toEqual([]);
  expect(duplicates(PAGES.map(({ title }) => title))).toEqual([]);
  expect(duplicates(PAGES.flatMap(({ navigation }) => navigation?.letter ?? []))).toEqual([]);
});

test('scenarios can be watched on pages that there are', () => {
  for (const watched of Object.values(WATCHED_PAGES)) expect(PAGES).toContainEqual(expect.objectContaining(watched));
});

test('pages with the same frame are inside one', () => {
  const [frame, ...others] = pageRoutes(PAGES).filter(({ children }) => children);
  expect(others).toEqual([]);
  expect(frame?.children?.map(({ path }) => path)).toEqual(['/chains/:id', '/chains/:id/plan']);
});
