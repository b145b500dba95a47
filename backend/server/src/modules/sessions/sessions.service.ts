import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { EventDraft, Role, Session, SessionInfo, SessionRequest } from '@orrery/contract';
import { BoundedAudit } from '../../platform/audit.js';
import { limitKey } from '../../platform/client-address.js';
import { newToken, sha256 } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { Places } from '../../platform/places.js';
import { ProblemError } from '../../platform/problem.js';
import { isStoreAway, STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import type { SessionIssuer, SessionVerifier } from '../../ports/session-verifier.js';
import { isAdminSecret } from './admin-secret.js';
import { AttemptLimiter } from './attempt-limiter.js';

const LIFETIME_MS = 12 * 3600 * 1000;
/** Attempts that wait for the check of their secret, which takes some 50 ms: all, and those of one address. */
const MAX_ATTEMPTS = 64;
const MAX_ATTEMPTS_OF_ADDRESS = 8;
/** Sessions kept in memory; the oldest are forgotten first. */
const MAX_KNOWN = 10_000;
/** How long the store may take before a session is taken from memory. */
const PATIENCE_MS = 500;

const tooMany = (waitS: number) =>
  new ProblemError(429, `Too many attempts; wait ${waitS} s.`, [], { 'retry-after': String(waitS) });

@Injectable()
export class SessionsService implements SessionVerifier, SessionIssuer {
  private readonly limiter = new AttemptLimiter();
  private readonly mutex = new Mutex();
  /** By token. */
  private readonly watchers = new Map<string, Set<() => void>>();
  /** Sessions by hash of their token, used while the store does not answer. */
  private readonly known = new Map<string, SessionInfo>();
  private closings = 0;

  private readonly refusals: BoundedAudit;
  private readonly attempts = new Places(MAX_ATTEMPTS, MAX_ATTEMPTS_OF_ADDRESS);

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.refusals = new BoundedAudit(events);
  }

  /** Creates a session; only the hash of its token is stored. Serialized, to enforce the attempt limit. */
  async open(request: SessionRequest, client: string): Promise<Session> {
    const address = limitKey(client);
    const leave = this.attempts.take(address);
    if (!leave) throw tooMany(1);
    return this.mutex.run(() => this.check(request, address)).finally(leave);
  }

  private async check(request: SessionRequest, address: string): Promise<Session> {
    const wait = this.limiter.waitSeconds(address);
    if (wait > 0) throw tooMany(wait);
    if (!(await isAdminSecret(this.store, request.secret))) {
      this.limiter.failed(address);
      this.refusals.note(address, (unrecorded) => ({
        type: 'session.refused',
        subject: address,
        message: `A wrong secret from ${address}`,
        data: { address, unrecorded },
      }));
      throw new ProblemError(401, 'The secret is wrong.', [{ pointer: '/secret', detail: 'is wrong' }], {
        'www-authenticate': 'Bearer',
      });
    }
    this.limiter.succeeded(address);
    const role = request.role ?? 'admin';
    const name = request.name ?? role;
    return this.begin(role, name, {
      type: 'session.opened',
      subject: name,
      message: `${name} signed in as ${role} from ${address}`,
      actor: name,
      data: { address, role },
    });
  }

  async issue(role: Role, name: string): Promise<string> {
    return (await this.begin(role, name)).token;
  }

  private async begin(role: Role, name: string, opened?: EventDraft): Promise<Session> {
    const token = newToken();
    const hash = sha256(token);
    const info: SessionInfo = { role, name, expires_ms: Date.now() + LIFETIME_MS };
    await this.store.transact((transaction) => {
      transaction.set(KEYS.session(hash), JSON.stringify(info), 'PX', LIFETIME_MS);
      if (opened) this.events.appendIn(transaction, opened);
    });
    this.remember(hash, info);
    return { token, ...info };
  }

  /** Signs out. */
  async end(token: string, { name, role, expires_ms }: SessionInfo): Promise<void> {
    const left_ms = Math.max(1, Math.ceil(expires_ms - Date.now()));
    await this.store.redis.set(KEYS.signedOut(sha256(token)), '1', 'PX', left_ms);
    await this.close(token);
    this.events.append({
      type: 'session.closed',
      subject: name,
      message: `${name} signed out`,
      actor: name,
      data: { role },
    });
  }

  async verify(token: string): Promise<SessionInfo | null> {
    const hash = sha256(token);
    const { closings } = this;
    const info = await this.read(hash);
    if (!info || info.expires_ms <= Date.now()) {
      this.known.delete(hash);
      return null;
    }
    // What was read may have been closed since.
    if (closings === this.closings) this.remember(hash, info);
    return info;
  }

  async whyNone(token: string): Promise<'signed-out' | 'unknown'> {
    return (await this.store.redis.exists(KEYS.signedOut(sha256(token)))) ? 'signed-out' : 'unknown';
  }

  async close(token: string): Promise<void> {
    const hash = sha256(token);
    await this.store.redis.del(KEYS.session(hash));
    this.closings++;
    this.known.delete(hash);
    for (const end of this.watchers.get(token) ?? []) end();
  }

  private async read(hash: string): Promise<SessionInfo | null> {
    const known = this.known.get(hash);
    const reading = this.store.json<SessionInfo>(KEYS.session(hash));
    if (!known) return reading;
    const patience = new AbortController();
    const { signal } = patience;
    return Promise.race([
      reading.catch((error) => {
        if (isStoreAway(error)) return known;
        throw error;
      }),
      sleep(PATIENCE_MS, known, { signal, ref: false }).catch(() => known),
    ]).finally(() => patience.abort());
  }

  private remember(hash: string, info: SessionInfo): void {
    this.known.delete(hash);
    this.known.set(hash, info);
    if (this.known.size > MAX_KNOWN) this.known.delete(this.known.keys().next().value!);
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
