import type { AgentCapabilities, AgentMessage, JoinToken, Origin } from '@orrery/contract';
import { newToken, sha256 } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import type { Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';

const TOKEN_LIFETIME_MS = 24 * 3600 * 1000;
/** An agent whose welcome was lost may try the same token again for so long. */
const RETRY_MS = 60_000;

/** What is kept of an agent over restarts. */
export interface AgentRecord {
  readonly credential_hash: string;
  readonly origin: Origin;
  readonly version: string;
  readonly capabilities: AgentCapabilities;
  readonly seen_ms: number;
}

interface TokenRecord {
  readonly node: string;
  /** The agent process that used it; null: nobody yet. */
  readonly boot_id: string | null;
}

type Hello = Extract<AgentMessage, { type: 'hello' }>;
export type Admission =
  | { readonly admitted: true; readonly credential: string | null }
  | { readonly admitted: false; readonly why: string };

/** Decides who may act as a node. Credentials and tokens are kept as hashes. */
export class AgentRegistry {
  private readonly mutex = new Mutex();

  constructor(private readonly store: Store) {}

  async records(): Promise<Map<string, AgentRecord>> {
    const all = await this.store.redis.hgetall(KEYS.agents);
    return new Map(Object.entries(all).map(([node, text]) => [node, JSON.parse(text) as AgentRecord]));
  }

  async issueToken(node: string): Promise<JoinToken> {
    const token = newToken();
    const record: TokenRecord = { node, boot_id: null };
    await this.store.redis.set(KEYS.joinToken(sha256(token)), JSON.stringify(record), 'PX', TOKEN_LIFETIME_MS);
    return { node, token, expires_ms: Date.now() + TOKEN_LIFETIME_MS };
  }

  /** One at a time: a token must not admit two agents. */
  admit(hello: Hello): Promise<Admission> {
    return this.mutex.run(() => this.decide(hello));
  }

  private async decide(hello: Hello): Promise<Admission> {
    const known = await this.store.hashJson<AgentRecord>(KEYS.agents, hello.node);
    if (hello.credential !== null && known?.credential_hash === sha256(hello.credential)) {
      await this.remember(hello, known.credential_hash);
      if (hello.join_token !== null) await this.store.redis.del(KEYS.joinToken(sha256(hello.join_token)));
      return { admitted: true, credential: null };
    }
    if (hello.join_token === null)
      return { admitted: false, why: `the credential is not that of ${hello.node}; join with a new token` };
    const key = KEYS.joinToken(sha256(hello.join_token));
    const token = await this.store.json<TokenRecord>(key);
    if (!token || token.node !== hello.node || (token.boot_id !== null && token.boot_id !== hello.boot_id))
      return { admitted: false, why: `the join token is not valid for ${hello.node}, or it was used` };
    const credential = newToken();
    const used: TokenRecord = { node: hello.node, boot_id: hello.boot_id };
    await this.store.transact((transaction) => {
      transaction.set(key, JSON.stringify(used), 'PX', RETRY_MS);
      transaction.hset(KEYS.agents, hello.node, JSON.stringify(record(hello, sha256(credential))));
    });
    return { admitted: true, credential };
  }

  private async remember(hello: Hello, credentialHash: string): Promise<void> {
    await this.store.redis.hset(KEYS.agents, hello.node, JSON.stringify(record(hello, credentialHash)));
  }
}

function record(hello: Hello, credentialHash: string): AgentRecord {
  const { origin, version, capabilities } = hello;
  return { credential_hash: credentialHash, origin, version, capabilities, seen_ms: Date.now() };
}
