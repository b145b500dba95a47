import { expect, it } from 'vitest';
import { ContainerImage, ImageReference } from './container-image.js';
import { fieldErrors } from './field-errors.js';
import { hasImage, MAX_IMAGES } from './image-lack.js';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

it.each([
  'nginx:1.27',
  'orrery/nftables:1.0.0',
  `${'n'.repeat(255)}:1`,
  'registry.example:65535/name:1',
  'registry.example:5000/team/sub.team/name_x:v1',
  `localhost:5000/name@${DIGEST}`,
  `Registry.Example/name:1.0@${DIGEST}`,
])('takes the reference %s', (reference) => {
  expect(ImageReference.safeParse(reference).success).toBe(true);
});

it.each([
  ['no tag', 'nginx'],
  ['a port is no tag', 'registry.example:5000/name'],
  ['capitals', 'Nginx/Name:1'],
  ['another protocol', 'https://registry.example/name:1'],
  ['a flag', '--privileged:1'],
  ['a space', 'name :1'],
  ['a digest cut short', 'name@sha256:0a0a'],
  ['parents', '../name:1'],
  ['a query', 'name:1?tag=2'],
  ['nothing', ''],
  ['a long name', `${'n'.repeat(256)}:1`],
  ['a long name and a digest', `${'n'.repeat(128)}/${'m'.repeat(127)}@${DIGEST}`],
  ['a port that does not exist', 'registry.example:65536/name:1'],
])('refuses a reference with %s', (_what, reference) => {
  expect(ImageReference.safeParse(reference).success).toBe(false);
});

const image = { reference: 'a/b:1', pull: 'never', forwarding: 'bridge', preserves: [] };

it('gives an image that says no more no rights, limits, and a root file system that it cannot write to', () => {
  expect(ContainerImage.parse(image)).toMatchObject({
    capabilities: [],
    limits: { cpus: 1, memory_bytes: 512 * 2 ** 20, processes: 256 },
    writable: ['/tmp', '/run'],
    environment: {},
    files: [],
  });
});

it('takes the folder of shared memory, which Docker mounts as any other', () => {
  expect(ContainerImage.parse({ ...image, writable: ['/dev/shm'] }).writable).toEqual(['/dev/shm']);
});

it.each([
  [{ reference: 'a b' }, '/reference'],
  [{ pull: 'sometimes' }, '/pull'],
  [{ capabilities: ['SYS_ADMIN'] }, '/capabilities/0'],
  [{ limits: { cpus: 1000 } }, '/limits/cpus'],
  [{ limits: { memory_bytes: 1 } }, '/limits/memory_bytes'],
  [{ limits: { processes: 0 } }, '/limits/processes'],
  [{ health: { by: 'tcp', port: 0 } }, '/health/port'],
  [{ health: { by: 'command' } }, '/health/command'],
  [{ health: { by: 'image', interval_s: 0 } }, '/health/interval_s'],
  [{ writable: ['tmp'] }, '/writable/0'],
  [{ writable: ['/tmp', '/dev/shm', '/dev/mqueue'] }, '/writable/2'],
  [{ writable: ['/dev/shm/sub'] }, '/writable/0'],
  [{ writable: ['/instance'] }, '/writable/0'],
  [{ environment: { A: 'a\0b' } }, '/environment/A'],
  [{ privileged: true }, '/privileged'],
])('refuses %j at its field', (wrong, pointer) => {
  const { error } = ContainerImage.safeParse({ ...image, ...wrong });
  expect(fieldErrors(error!).map((it) => it.pointer)).toEqual([pointer]);
});

it('finds an image by what Docker lists, and says that it does not know where not all are listed', () => {
  const there = ['nginx:1.27', `a.b:5000/c/d@${DIGEST}`];
  for (const one of [
    'nginx:1.27',
    'docker.io/library/nginx:1.27',
    `a.b:5000/c/d@${DIGEST}`,
    `a.b:5000/c/d:1@${DIGEST}`,
  ])
    expect(hasImage(there, one)).toBe(true);
  for (const one of ['nginx:1', 'c/d:1', `c/d@${DIGEST}`]) expect(hasImage(there, one)).toBe(false);
  const many = Array.from({ length: MAX_IMAGES }, (_, i) => `a:${i}`);
  expect([hasImage(many, 'a:7'), hasImage(many, 'b:7')]).toEqual([true, null]);
});
