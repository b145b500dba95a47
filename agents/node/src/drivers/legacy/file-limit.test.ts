import { ENDING_EXAMPLES, type EndingExample } from '@orrery/contract/ending-examples';
import { expect, it } from 'vitest';
import { howItEnded } from '../container/container-end.js';
import type { DockerClient } from '../container/docker-client.js';
import { HostHousing } from '../process/host-housing.js';
import { nameFileLimit } from './file-limit.js';

const ENDED = {
  id: 'x',
  image: 'i',
  running: false,
  pid: 0,
  memory_limit_bytes: 512 * 2 ** 20,
  paused: false,
  health: null,
  labels: {},
};
const LIMIT_BYTES = 64 * 2 ** 20;

async function told({ housing, how, said }: EndingExample): Promise<string> {
  const text = typeof how === 'string' ? how : 'signal' in how ? `signal ${how.signal}` : `exit code ${how.exit_code}`;
  if (housing === 'process') return new HostHousing('/none').explain('web.nf.0', text);
  const docker = { logs: async () => (said === undefined ? [] : [said]) } as unknown as DockerClient;
  const exit_code = typeof how !== 'string' && 'exit_code' in how ? how.exit_code : 137;
  const container = { ...ENDED, exit_code, out_of_memory: how === 'out of memory' };
  return howItEnded(docker, container);
}

it.each(ENDING_EXAMPLES)('tells "$told" as the console expects it', async (example) => {
  expect(nameFileLimit(await told(example), LIMIT_BYTES)).toBe(example.told);
});

it('tells of a program that ended at once, too, and leaves what programs say as it is', () => {
  expect(nameFileLimit('dd ended at once: signal SIGXFSZ: x', LIMIT_BYTES)).toBe(
    'dd ended at once: a file of it grew to 64 MiB: x',
  );
  const others = ['exit code 1530', 'dd ended at once: exit code 1: signal SIGXFSZ'];
  for (const other of others) expect(nameFileLimit(other, LIMIT_BYTES)).toBe(other);
});
