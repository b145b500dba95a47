import { matchPath } from 'react-router';
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

test('links lead to pages that there are', () => {
  const sources = import.meta.glob<string>('../**/*.tsx', { query: '?raw', import: 'default', eager: true });
  const links = Object.values(sources).flatMap((source) =>
    [...source.matchAll(/\bto=(?:"|\{`)(\/[a-z/-]*)/g)].map(([, path = '']) => path),
  );
  expect(links).toContain('/slos');
  // What follows is an id.
  const whole = (link: string) => (link === '/' ? link : link.replace(/\/$/, '/x'));
  const isPage = (link: string) => PAGES.some(({ path }) => matchPath(path, whole(link)));
  expect(links.filter((link) => !isPage(link))).toEqual([]);
});

test('scenarios can be watched on pages that there are', () => {
  for (const watched of Object.values(WATCHED_PAGES)) expect(PAGES).toContainEqual(expect.objectContaining(watched));
});

test('pages with the same frame are inside one', () => {
  const [frame, ...others] = pageRoutes(PAGES).filter(({ children }) => children);
  expect(others).toEqual([]);
  expect(frame?.children?.map(({ path }) => path)).toEqual(['/chains/:id', '/chains/:id/plan']);
});
