import { expect, it } from 'vitest';
import { nfConfig } from './container-config.js';

it('gives the NF what it runs to read and a folder for its socket, whatever the path, and nothing else', () => {
  const of = { image: 'i', node: 'n1', instance_id: 'p.nat.0' };
  const { HostConfig } = nfConfig(of, 'holder', '/run/a:b/box/stem');
  expect(HostConfig).not.toHaveProperty('Binds');
  expect(HostConfig.Mounts.map(({ Source, Target, ReadOnly }) => [Source, Target, ReadOnly])).toEqual([
    ['/run/a:b/box/stem/instance.json', '/instance.json', true],
    ['/run/a:b/box/stem/ctl', '/ctl', false],
  ]);
});
