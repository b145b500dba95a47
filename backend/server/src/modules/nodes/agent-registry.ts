import { Inject, Injectable } from '@nestjs/common';
import {
  AgentCapabilities,
  type AgentMessage,
  type JoinToken,
  Name,
  Origin,
  SwitchAbilities,
  SwitchDescription,
  TimestampMs,
} from '@orrery/contract';
import { z } from 'zod';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newToken, sha256 } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { ProblemError } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';

const TOKEN_LIFETIME_MS = 24 * 3600 * 1000;

const MAX_AGENTS = 10_000;
const MAX_REVOKED = 16;

/** What is kept of an agent over restarts. It describes itself again whenever it connects: what another version stored may go. */
const AgentRecord = z.strictObject({
  node: Name,
  /** Null: it was revoked. */
  credential_hash: z.string().nullable(),
  /** Newest last, the oldest are forgotten; an agent that presents one is refused even with a new token. */
  revoked_hashes: z.array(z.string()).max(MAX_REVOKED).default([]),
  origin: Origin,
  version: z.string(),
  /** Of a server. */
  capabilities: AgentCapabilities.optional().catch(undefined),
  /** Of a switch. */
  description: SwitchDescription.optional().catch(undefined),
  /** Of a switch: by the drivers that its agent has. */
  drivers: z.record(Name, SwitchAbilities).optional().catch(undefined),
  seen_ms: TimestampMs,
});
export type AgentRecord = z.infer<typeof AgentRecord>;

interface TokenRecord {
  readonly node: string;
}

export type Hello = Extract<AgentMessage, { type: 'hello' | 'switch-hello' }>;
export type Admission =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly why: string; readonly credentialRevoked?: boolean };

/** Decides who may act as a node. Credentials and tokens are stored as hashes. */
@Injectable()
export class AgentRegistry {
  private readonly mutex = new Mutex();
  private readonly agents: DurableCollection<AgentRecord>;

  constructor(
    @Inject(STORE) private readonly store: Pick<Store, 'json' | 'transact'>,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: Pick<EventLog, 'appendIn'>,
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

  async issueToken(node: string, actor: string): Promise<JoinToken> {
    const token = newToken();
    const record: TokenRecord = { node };
    const expires_ms = Date.now() + TOKEN_LIFETIME_MS;
    await this.store.transact((transaction) => {
      transaction.set(KEYS.joinToken(sha256(token)), JSON.stringify(record), 'PX', TOKEN_LIFETIME_MS);
      this.events.appendIn(transaction, {
        type: 'node.join-token-created',
        subject: node,
        message: `A join token for ${node} was created`,
        actor,
        data: { expires_ms },
      });
    });
    return { node, token, expires_ms };
  }

  /**
   * The credential is refused from now on, also by a join that is in progress, and together with a new token until `MAX_REVOKED`
   * later ones of the node were revoked. Throws 404 if the node has none.
   */
  revoke(node: string, actor: string): Promise<void> {
    return this.collections.commit((batch) => {
      const record = this.agents.find(node);
      if (!record?.credential_hash) throw new ProblemError(404, `No agent has joined as ${node}.`);
      const revoked_hashes = [...record.revoked_hashes, record.credential_hash].slice(-MAX_REVOKED);
      batch.put(this.agents, { ...record, credential_hash: null, revoked_hashes });
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'node.credential-revoked',
          subject: node,
          message: `The credential of ${node} was revoked`,
          actor,
          data: {},
        }),
      );
    });
  }

  /** Serialized: a token must not admit two agents. */
  admit(hello: Hello): Promise<Admission> {
    return this.mutex.run(() => this.decide(hello));
  }

  private async decide(hello: Hello): Promise<Admission> {
    const { node, join_token } = hello;
    const token = join_token === null ? null : KEYS.joinToken(sha256(join_token));
    const mayJoin = token !== null && (await this.store.json<TokenRecord>(token))?.node === node;
    const credential_hash = sha256(hello.credential);
    return this.collections.commit((batch) => {
      const record = this.agents.find(node);
      const revoked_hashes = record?.revoked_hashes ?? [];
      if (revoked_hashes.includes(credential_hash)) {
        const why = `the credential of ${node} was revoked; join with a new token`;
        return { admitted: false, credentialRevoked: true, why };
      }
      const isKnown = record?.credential_hash === credential_hash;
      if (!isKnown && !mayJoin) return { admitted: false, why: whyUnknown(node, join_token) };
      batch.put(this.agents, { node, credential_hash, revoked_hashes, seen_ms: Date.now(), ...describedBy(hello) });
      batch.also((transaction) => {
        if (token !== null) transaction.del(token);
        if (isKnown) return;
        this.events.appendIn(transaction, {
          type: 'node.joined',
          subject: node,
          message: `An agent joined as ${node} with a join token`,
          data: { origin: hello.origin },
        });
      });
      return { admitted: true };
    });
  }
}

function whyUnknown(node: string, joinToken: string | null): string {
  return joinToken === null
    ? `the credential is not that of ${node}; join with a new token`
    : `the join token is not valid for ${node}, or was already used`;
}

export type AgentDescription = Omit<AgentRecord, 'node' | 'credential_hash' | 'revoked_hashes' | 'seen_ms'>;

/** What an agent reports about itself and its node. */
export function describedBy(hello: Hello): AgentDescription {
  const { origin, version } = hello;
  return hello.type === 'hello'
    ? { origin, version, capabilities: hello.capabilities }
    : { origin, version, description: hello.description, drivers: hello.drivers };
}
