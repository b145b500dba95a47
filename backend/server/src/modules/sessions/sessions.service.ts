import { Inject, Injectable } from '@nestjs/common';
import type { Role, Session, SessionInfo, SessionRequest } from '@orrery/contract';
import { newToken, sha256 } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { ProblemError } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { SessionIssuer, SessionVerifier } from '../../ports/session-verifier.js';
import { isAdminSecret } from './admin-secret.js';
import { AttemptLimiter } from './attempt-limiter.js';

const LIFETIME_MS = 12 * 3600 * 1000;

@Injectable()
export class SessionsService implements SessionVerifier, SessionIssuer {
  private readonly limiter = new AttemptLimiter(Date.now);
  private readonly mutex = new Mutex();
  /** By token. */
  private readonly watchers = new Map<string, Set<() => void>>();

  constructor(@Inject(STORE) private readonly store: Store) {}

  /** Creates a session; only the hash of its token is stored. Serialized, to enforce the attempt limit. */
  open(request: SessionRequest, address: string): Promise<Session> {
    return this.mutex.run(async () => {
      const wait = this.limiter.waitSeconds(address);
      if (wait > 0)
        throw new ProblemError(429, `Too many wrong secrets; wait ${wait} s.`, [], { 'retry-after': String(wait) });
      if (!(await isAdminSecret(this.store, request.secret))) {
        this.limiter.failed(address);
        throw new ProblemError(401, 'The secret is wrong.', [{ pointer: '/secret', detail: 'is wrong' }], {
          'www-authenticate': 'Bearer',
        });
      }
      this.limiter.succeeded(address);
      const role = request.role ?? 'admin';
      return this.begin(role, request.name ?? role);
    });
  }

  async issue(role: Role, name: string): Promise<string> {
    return (await this.begin(role, name)).token;
  }

  private async begin(role: Role, name: string): Promise<Session> {
    const token = newToken();
    const info: SessionInfo = { role, name, expires_ms: Date.now() + LIFETIME_MS };
    await this.store.redis.set(KEYS.session(sha256(token)), JSON.stringify(info), 'PX', LIFETIME_MS);
    return { token, ...info };
  }

  async verify(token: string): Promise<SessionInfo | null> {
    const info = await this.store.json<SessionInfo>(KEYS.session(sha256(token)));
    return info && info.expires_ms > Date.now() ? info : null;
  }

  async close(token: string): Promise<void> {
    await this.store.redis.del(KEYS.session(sha256(token)));
    for (const end of this.watchers.get(token) ?? []) end();
  }

  watch(token: string, { expires_ms }: SessionInfo, onEnd: () => void): () => void {
    const watchers = this.watchers.get(token) ?? new Set();
    this.watchers.set(token, watchers);
    const end = () => {
      forget();
      onEnd();
    };
    const expiry = setTimeout(end, Math.max(expires_ms - Date.now(), 0));
    const forget = () => {
      clearTimeout(expiry);
      watchers.delete(end);
      if (watchers.size === 0 && this.watchers.get(token) === watchers) this.watchers.delete(token);
    };
    watchers.add(end);
    return forget;
  }
}
