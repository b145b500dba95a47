import { expect, it } from 'vitest';
import { downLinksText } from './down-links.js';

const link = (id: string, a: string, b: string) => ({
  id,
  a: { node: a, port: 'p1' },
  b: { node: b, port: 'p1' },
});
const links = [link('l-1', 'server-1', 'leaf-1'), link('l-2', 'leaf-1', 'server-2'), link('l-3', 'server-2', 'leaf-2')];

it('names the links of a node that are down, at either end', () => {
  expect(downLinksText('server-1', links, ['l-2'])).toBeNull();
  expect(downLinksText('server-2', links, ['l-2'])).toBe('link l-2 is down');
  expect(downLinksText('server-2', links, ['l-2', 'l-3'])).toBe('links l-2, l-3 are down');
});
