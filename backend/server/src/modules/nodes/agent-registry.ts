import { Inject, Injectable } from '@nestjs/common';
import {
  AgentCapabilities,
  type AgentMessage,
  type JoinToken,
  Name,
  Origin,
  SwitchDescription,
  TimestampMs,
} from '@orrery/contract';
import { z } from 'zod';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newToken, sha256 } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';

const TOKEN_LIFETIME_MS = 24 * 3600 * 1000;

const MAX_AGENTS = 10_000;

/** What is kept of an agent over restarts. It describes itself again whenever it connects: what another version stored may go. */
const AgentRecord = z.strictObject({
  node: Name,
  credential_hash: z.string(),
  origin: Origin,
  version: z.string(),
  /** Of a server. */
  capabilities: AgentCapabilities.optional().catch(undefined),
  /** Of a switch. */
  description: SwitchDescription.optional().catch(undefined),
  seen_ms: TimestampMs,
});
export type AgentRecord = z.infer<typeof AgentRecord>;

interface TokenRecord {
  readonly node: string;
}

export type Hello = Extract<AgentMessage, { type: 'hello' | 'switch-hello' }>;
export type Admission = { readonly admitted: true } | { readonly admitted: false; readonly why: string };

/** Decides who may act as a node. Credentials and tokens are stored as hashes. */
@Injectable()
export class AgentRegistry {
  private readonly mutex = new Mutex();
  private readonly agents: DurableCollection<AgentRecord>;

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(COLLECTIONS) private readonly collections: Collections,
  ) {
    this.agents = collections.open<AgentRecord>({
      key: KEYS.agents,
      noun: 'agent',
      schema: AgentRecord,
      version: 1,
      migrate: (record, _from, node) => ({ ...(record as object), node }),
      idOf: ({ node }) => node,
      bound: { most: MAX_AGENTS, policy: 'refuse' },
    });
  }

  async records(): Promise<readonly AgentRecord[]> {
    await this.agents.load();
    return this.agents.all();
  }

  async issueToken(node: string): Promise<JoinToken> {
    const token = newToken();
    const record: TokenRecord = { node };
    await this.store.redis.set(KEYS.joinToken(sha256(token)), JSON.stringify(record), 'PX', TOKEN_LIFETIME_MS);
    return { node, token, expires_ms: Date.now() + TOKEN_LIFETIME_MS };
  }

  /** Serialized: a token must not admit two agents. */
  admit(hello: Hello): Promise<Admission> {
    return this.mutex.run(() => this.decide(hello));
  }

  private async decide(hello: Hello): Promise<Admission> {
    await this.collections.certain();
    const { node, join_token } = hello;
    const credential_hash = sha256(hello.credential);
    const isKnown = this.agents.find(node)?.credential_hash === credential_hash;
    if (!isKnown && join_token === null)
      return { admitted: false, why: `the credential is not that of ${node}; join with a new token` };
    const token = join_token === null ? null : KEYS.joinToken(sha256(join_token));
    if (!isKnown && (await this.store.json<TokenRecord>(token!))?.node !== node)
      return { admitted: false, why: `the join token is not valid for ${node}, or was already used` };
    await this.collections.commit((batch) => {
      batch.put(this.agents, { node, credential_hash, seen_ms: Date.now(), ...describedBy(hello) });
      batch.also((transaction) => {
        if (token !== null) transaction.del(token);
      });
    });
    return { admitted: true };
  }
}

/** What an agent reports about itself and its node. */
export function describedBy(hello: Hello): Omit<AgentRecord, 'node' | 'credential_hash' | 'seen_ms'> {
  const { origin, version } = hello;
  return hello.type === 'hello'
    ? { origin, version, capabilities: hello.capabilities }
    : { origin, version, description: hello.description };
}
