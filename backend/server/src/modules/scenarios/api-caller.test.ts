import type { HttpAdapterHost } from '@nestjs/core';
import fastify from 'fastify';
import { expect, it } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import { ApiCaller } from './api-caller.js';
import { removeLabSwitch } from './lab-switch.js';

/** What holds an infrastructure by its revision, as the API does, and another user who renames it after a read. */
function holder(renames: number) {
  let left = renames;
  const state = { revision: 1, infrastructure: RACK };
  const server = fastify();
  server.get('*', (_request, reply) => {
    void reply.header('etag', `"${state.revision}"`).send(state.infrastructure);
    if (left-- > 0)
      Object.assign(state, { revision: state.revision + 1, infrastructure: { ...RACK, name: `renamed-${left}` } });
  });
  server.put('*', (request, reply) => {
    const given = request.headers['if-match'];
    if (given !== '*' && given !== `"${state.revision}"`)
      return reply.code(412).send({ title: 'Precondition failed', status: 412, detail: 'at another revision' });
    Object.assign(state, { revision: state.revision + 1, infrastructure: request.body });
    return reply.send(request.body);
  });
  const host = { httpAdapter: { getInstance: () => server } } as unknown as HttpAdapterHost;
  const sessions = { issue: async () => 'token', close: async () => undefined, verify: async () => null };
  return { state, caller: new ApiCaller(host, sessions as never) };
}

it('a change of the infrastructure keeps what somebody else changed meanwhile', async () => {
  const { state, caller } = holder(2);
  const [first] = RACK.switches;
  await removeLabSwitch(await caller.as('scenario', 'admin'), first!.id);
  expect(state.infrastructure.name).toBe('renamed-0');
  expect(state.infrastructure.switches).toHaveLength(RACK.switches.length - 1);
});

it('gives up where others change it again and again', async () => {
  const { caller } = holder(100);
  const change = removeLabSwitch(await caller.as('scenario', 'admin'), RACK.switches[0]!.id);
  await expect(change).rejects.toThrow('putInfrastructure: at another revision');
});
