import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import { ROUTES, type RouteDefinition } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { concatMap, from, type Observable, of, tap } from 'rxjs';
import { sha256 } from './ids.js';
import { conflict, invalid, ProblemError } from './problem.js';
import { STORE, type Store } from './redis.js';
import { KEYS } from './redis-keys.js';
import { type ApiRequest, routeOf } from './route.js';

const KEEP_S = 86_400;
/** After a crash in the middle of a request the key is free again after so long. */
const PENDING_S = 60;

interface StoredAnswer {
  readonly body_hash: string;
  /** null: the first request is still at work. */
  readonly answer: { readonly status: number; readonly headers: Record<string, string>; readonly body: unknown } | null;
}

/** Gives a repeated creating request with the same `Idempotency-Key` the answer that the first one got. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(@Inject(STORE) private readonly store: Store) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const name = routeOf(context);
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const given = request.headers['idempotency-key'];
    const route: RouteDefinition | undefined = name && ROUTES[name];
    if (!route?.creates || route.body_type || given === undefined) return next.handle();
    const key = String(given);
    if (key.length < 1 || key.length > 200)
      throw new ProblemError(400, 'Idempotency-Key must have 1 to 200 characters.');
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const redisKey = KEYS.idempotency(sha256(`${request.session?.name}\n${request.url}\n${key}`));
    const bodyHash = sha256(JSON.stringify(request.body ?? null));
    return from(this.claim(redisKey, bodyHash)).pipe(
      concatMap((known) => {
        if (known) {
          reply.status(known.status).headers(known.headers).header('idempotent-replayed', 'true');
          return of(known.body);
        }
        return next.handle().pipe(
          concatMap(async (body) => {
            await this.remember(redisKey, bodyHash, reply, route.status, body);
            return body;
          }),
          tap({ error: () => void this.store.redis.del(redisKey).catch(() => undefined) }),
        );
      }),
    );
  }

  private async claim(redisKey: string, bodyHash: string): Promise<StoredAnswer['answer']> {
    const pending: StoredAnswer = { body_hash: bodyHash, answer: null };
    const claimed = await this.store.redis.set(redisKey, JSON.stringify(pending), 'EX', PENDING_S, 'NX');
    if (claimed) return null;
    const stored = await this.store.json<StoredAnswer>(redisKey);
    if (stored && stored.body_hash !== bodyHash) throw invalid([], 'This Idempotency-Key was used with another body.');
    if (!stored?.answer) throw conflict('A request with this Idempotency-Key is still at work.');
    return stored.answer;
  }

  private async remember(redisKey: string, bodyHash: string, reply: FastifyReply, status: number, body: unknown) {
    const headers = Object.fromEntries(
      ['location', 'etag'].flatMap((name) => {
        const value = reply.getHeader(name);
        return value === undefined ? [] : [[name, String(value)]];
      }),
    );
    const stored: StoredAnswer = { body_hash: bodyHash, answer: { status, headers, body } };
    await this.store.redis.set(redisKey, JSON.stringify(stored), 'EX', KEEP_S);
  }
}
