import { expect, it } from 'vitest';
import { nfConfig } from './container-config.js';

it('gives the NF its configuration to read and a folder for its socket, whatever the path, and nothing else', () => {
  const of = { image: 'i', node: 'n1', instance_id: 'p.nat.0' };
  const { HostConfig } = nfConfig(of, 'holder', '/run/a:b/containers/stem');
  expect(HostConfig).not.toHaveProperty('Binds');
  expect(HostConfig.Mounts.map(({ Source, Target, ReadOnly }) => [Source, Target, ReadOnly])).toEqual([
    ['/run/a:b/containers/stem/instance.json', '/instance.json', true],
    ['/run/a:b/containers/stem/ctl', '/ctl', false],
  ]);
});
