import {
  type CallHandler,
  type ExecutionContext,
  HttpException,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { ROUTES, type RouteDefinition } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { IdempotencyAnswers } from './idempotency-answers.js';
import { newId, sha256 } from './ids.js';
import { LOG, type Log } from './log.js';
import { METRICS, type Metrics } from './metrics.js';
import { badHeader, conflict, ProblemError } from './problem.js';
import { STORE, type Store } from './redis.js';
import { type ApiRequest, routeOf } from './route.js';

interface StoredAnswer {
  /** Distinguishes the claims of different requests. */
  readonly claim: string;
  readonly body_hash: string;
  /** Null: the first request is still in progress, or its outcome is unknown. */
  readonly answer: { readonly status: number; readonly headers: Record<string, string>; readonly body: unknown } | null;
}

/**
 * Answers a repeated creating request with the same `Idempotency-Key` with the response to the first one. A key is released
 * only if its request certainly changed nothing; if the outcome is unknown, a repetition is refused with 409.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly atWork = new Set<string>();
  private readonly answers: IdempotencyAnswers;

  constructor(
    @Inject(STORE) store: Store,
    @Inject(METRICS) metrics: Metrics,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.answers = new IdempotencyAnswers(store, metrics);
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const name = routeOf(context);
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const given = request.headers['idempotency-key'];
    const route: RouteDefinition | undefined = name && ROUTES[name];
    if (!route?.creates || given === undefined) return next.handle();
    const key = String(given);
    if (key.length < 1 || key.length > 200)
      throw badHeader(400, 'Idempotency-Key', 'must have 1 to 200 characters', 'bad-header');
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const hash = sha256(`${request.session?.name}\n${request.url}\n${key}`);
    const bodyHash = sha256(JSON.stringify(request.body ?? null));
    return from(this.once(hash, bodyHash, route.status, reply, () => lastValueFrom(next.handle())));
  }

  private async once(
    hash: string,
    bodyHash: string,
    status: number,
    reply: FastifyReply,
    work: () => Promise<unknown>,
  ): Promise<unknown> {
    if (this.atWork.has(hash)) throw conflict('A request with this Idempotency-Key is still in progress.');
    this.atWork.add(hash);
    try {
      const claim: StoredAnswer = { claim: newId('claim'), body_hash: bodyHash, answer: null };
      const known = await this.claim(hash, claim);
      if (known) {
        reply.status(known.status).headers(known.headers).header('idempotent-replayed', 'true');
        return known.body;
      }
      try {
        const body = await work();
        await this.remember(hash, { ...claim, answer: { status, headers: headersOf(reply), body } });
        return body;
      } catch (error) {
        if (changedNothing(error)) void this.release(hash, claim);
        throw error;
      }
    } finally {
      this.atWork.delete(hash);
    }
  }

  /** Null: the request may proceed. Rejects if the key was used for another request, or its outcome is unknown. */
  private async claim(hash: string, claim: StoredAnswer): Promise<StoredAnswer['answer']> {
    let found: string | null;
    try {
      found = await this.answers.claim(hash, JSON.stringify(claim));
    } catch (error) {
      void this.release(hash, claim);
      throw error;
    }
    if (found === null) return null;
    const stored = JSON.parse(found) as StoredAnswer;
    if (stored.body_hash !== claim.body_hash)
      throw badHeader(422, 'Idempotency-Key', 'was used with another body', 'key-reused');
    if (!stored.answer)
      throw conflict(
        'The outcome of the request with this Idempotency-Key is unknown; read the resource, and use another key to repeat it.',
      );
    return stored.answer;
  }

  /** Best effort: if this is not written, a repetition is refused. */
  private async remember(hash: string, done: StoredAnswer): Promise<void> {
    try {
      await this.answers.replace(hash, JSON.stringify(done));
    } catch (error) {
      this.log.warn({ error: (error as Error).message }, 'response not stored for its Idempotency-Key');
    }
  }

  /** Not awaited: later uses of the key are queued behind it. */
  private async release(hash: string, claim: StoredAnswer): Promise<void> {
    try {
      await this.answers.release(hash, JSON.stringify(claim));
    } catch (error) {
      this.log.warn({ error: (error as Error).message }, 'Idempotency-Key not released; it stays in use for a day');
    }
  }
}

/** Whether the request itself was refused. After any other failure the change may have been made. */
function changedNothing(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status < 500;
  return error instanceof HttpException && error.getStatus() < 500;
}

function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    ['location', 'etag'].flatMap((name) => {
      const value = reply.getHeader(name);
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );
}
