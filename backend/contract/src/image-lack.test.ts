import { expect, it } from 'vitest';
import { imageLack } from './image-lack.js';

const image = { reference: 'a/b:1', pull: 'never' as const };
const containers = (more: object = {}) => ({ available: true, detail: 'Docker 27', images: ['a/b:1'], ...more });
const legacy = (enabled: boolean) => ({ enabled, nfs: [], detail: '' });

it.each([
  ['nothing, where Docker has it', { containers: containers() }, false, null],
  ['containers', { containers: containers({ available: false, detail: 'no socket' }) }, false, 'no socket'],
  ['an agent that says anything', {}, false, 'offers no containers'],
  ['a newer agent', { containers: containers({ images: undefined }) }, false, 'too old'],
  ['permission', { containers: containers(), legacy_nfs: legacy(false) }, true, '--legacy-nfs off'],
  ['nothing, with permission', { containers: containers(), legacy_nfs: legacy(true) }, true, null],
  ['the image', { containers: containers({ images: ['a/b:2'] }) }, false, 'does not have a/b:1'],
  ['how to build an image of its own', { containers: containers({ images: [] }) }, false, 'npm run build:images'],
])('tells that %s lacks', (_what, capabilities, isOfUser, lack) => {
  const told = imageLack(capabilities, image, isOfUser);
  if (lack === null) expect(told).toBeNull();
  else expect(told).toContain(lack);
});

it('takes an image that may be pulled as there', () => {
  const none = { containers: containers({ images: [] }) };
  expect(imageLack(none, { ...image, pull: 'if-missing' }, false)).toBeNull();
  expect(imageLack(none, { ...image, pull: 'always' }, false)).toBeNull();
});
