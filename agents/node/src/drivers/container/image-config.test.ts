import { ContainerImage } from '@orrery/contract';
import { expect, it } from 'vitest';
import { imageConfig } from './image-config.js';

const OF = { image: 'sha256:1', node: 'n1', instance_id: 'c.n.0' };

const configOf = (more: object = {}, config = {}) =>
  imageConfig(
    OF,
    'holder',
    ContainerImage.parse({ reference: 'a:1', pull: 'never', forwarding: 'bridge', preserves: [], ...more }),
    config,
    '/files',
  );

it('gives a container no rights, nothing to write to but memory, and the command of its image', () => {
  const config = configOf();
  expect(config).not.toHaveProperty('Cmd');
  expect(config).not.toHaveProperty('Entrypoint');
  expect(config.HostConfig).toMatchObject({
    CapDrop: ['ALL'],
    CapAdd: [],
    ReadonlyRootfs: true,
    SecurityOpt: ['no-new-privileges'],
    NetworkMode: 'container:holder',
    Mounts: [{ Source: '/files', Target: '/instance', ReadOnly: true }],
    RestartPolicy: { Name: 'no' },
  });
  expect(config.HostConfig).not.toHaveProperty('Privileged');
  expect(config.Healthcheck).toEqual({ Test: ['NONE'] });
});

it('tells Docker limits, rights, words and health check of the descriptor, filled in', () => {
  const { Cmd, Env, Healthcheck, HostConfig } = configOf(
    {
      command: ['run', '--port={{port}}', '{{none}}', '{{near}}', '{{dir}}/x'],
      environment: { PORT: '{{port}}' },
      capabilities: ['NET_ADMIN'],
      limits: { cpus: 0.25, memory_bytes: 2 ** 25, processes: 7 },
      writable: ['/var/cache'],
      health: { by: 'command', command: ['up', '{{port}}'], interval_s: 2, timeout_s: 1, failures: 4 },
    },
    { port: 80, none: '' },
  );
  expect(Cmd).toEqual(['run', '--port=80', 'near', '/instance/x']);
  expect(Env).toEqual(['PORT=80']);
  expect(Healthcheck).toEqual({ Test: ['CMD', 'up', '80'], Interval: 2e9, Timeout: 1e9, Retries: 4 });
  expect(HostConfig).toMatchObject({
    ...{ CapAdd: ['NET_ADMIN'], NanoCpus: 2.5e8, Memory: 2 ** 25, MemorySwap: 2 ** 25, PidsLimit: 7 },
    Tmpfs: { '/var/cache': `size=${2 ** 25},mode=1777` },
  });
});

it("leaves the check of its health to the image where it asks for it, at the descriptor's interval", () => {
  expect(configOf({ health: { by: 'image', interval_s: 1 } }).Healthcheck).toMatchObject({ Test: [], Interval: 1e9 });
  expect(configOf({ health: { by: 'tcp', port: 1 } }).Healthcheck).toEqual({ Test: ['NONE'] });
});
