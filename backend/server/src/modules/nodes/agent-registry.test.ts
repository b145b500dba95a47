import { mkdtempSync, rmSync } from 'node:fs';
import { AGENT_PROTOCOL } from '@orrery/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { configFrom } from '../../platform/config.js';
import { Collections } from '../../platform/durable-collection/collections.js';
import { makeLog } from '../../platform/log.js';
import { Store } from '../../platform/redis.js';
import { AgentRegistry, type Hello } from './agent-registry.js';

const log = makeLog('silent');
const NODE = 'server-1';
let folder: string;
let store: Store;
/** Resolves when everything that does not wait for the store has gone on. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** The gates of commits and of reads of tokens: each waits for them. */
let commits: Promise<void>;
let tokenReads: Promise<void>;
let registry: AgentRegistry;
let collections: Collections;

beforeAll(async () => {
  folder = mkdtempSync('/tmp/orrery-r-');
  store = await Store.open(configFrom({ ORRERY_RUN_DIR: folder, ORRERY_STATE_DIR: folder }), log);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await store.redis.flushall();
  commits = tokenReads = Promise.resolve();
  const gated = Object.create(store) as Store;
  gated.transact = async (fill) => {
    await commits;
    return store.transact(fill);
  };
  gated.json = async <T>(key: string) => {
    const value = await store.json<T>(key);
    await tokenReads;
    return value;
  };
  collections = new Collections(gated, log);
  registry = new AgentRegistry(gated, collections, { appendIn: () => undefined });
  await registry.records();
});

function gate(): { readonly shut: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const shut = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { shut, open };
}

const hello = (credential: string, join_token: string | null): Hello => ({
  type: 'hello',
  protocol: AGENT_PROTOCOL,
  node: NODE,
  origin: 'live',
  version: '1',
  credential,
  join_token,
  capabilities: {
    cores: 1,
    memory_bytes: 0,
    hugepages_bytes: 0,
    dpdk: null,
    engine_memory: null,
    drivers: [],
    nfs: [],
    iface: 'eth0',
    iface_mac: '02:00:00:00:00:01',
    boards: [],
  },
  observed: {
    generation: 0,
    state: 'converged',
    engine: 'stopped',
    engine_pid: null,
    instances: [],
    boards: [],
    error: null,
    troubles: [],
  },
});
const tokenFor = async () => (await registry.issueToken(NODE, 'admin')).token;

describe('a revoked credential', () => {
  beforeEach(async () => {
    expect(await registry.admit(hello('stolen', await tokenFor()))).toEqual({ admitted: true });
  });

  it('stays revoked although its owner is joining with it at that moment', async () => {
    const { shut, open } = gate();
    commits = shut;
    const earlier = collections.commit((batch) => batch.also((transaction) => transaction.set('test:other', '1')));
    const joining = registry.admit(hello('stolen', null));
    await turn();
    const revoked = registry.revoke(NODE, 'admin');
    open();
    await Promise.all([earlier, joining, revoked]);
    expect(await registry.admit(hello('stolen', null))).toMatchObject({ credentialRevoked: true });
  });

  it('stays revoked although another agent is joining with a token at that moment', async () => {
    const { shut, open } = gate();
    tokenReads = shut;
    const joining = registry.admit(hello('new', await tokenFor()));
    await turn();
    await registry.revoke(NODE, 'admin');
    open();
    expect(await joining).toEqual({ admitted: true });
    expect(await registry.admit(hello('stolen', await tokenFor()))).toMatchObject({ credentialRevoked: true });
  });

  it('is refused with a new token until sixteen later ones were revoked, and always without one', async () => {
    for (let n = 0; n < 16; n++) {
      await registry.revoke(NODE, 'admin');
      expect(await registry.admit(hello('stolen', await tokenFor()))).toMatchObject({ credentialRevoked: true });
      await registry.admit(hello(`later-${n}`, await tokenFor()));
    }
    await registry.revoke(NODE, 'admin');
    expect(await registry.admit(hello('stolen', null))).toMatchObject({ admitted: false });
    expect(await registry.admit(hello('stolen', await tokenFor()))).toEqual({ admitted: true });
  });
});
