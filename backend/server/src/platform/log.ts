import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';

export const LOG = Symbol('Log');
export type Log = Logger;

/** JSON lines on standard output. */
export function makeLog(level: string): Log {
  const redact = { paths: ['token', 'secret', '*.token', '*.secret'], censor: '…' };
  return pino({ level, base: null, redact, serializers: { error: pino.stdSerializers.err } });
}

/** Routes NestJS logs through pino; start-up messages are debug. */
export class NestLog implements LoggerService {
  constructor(private readonly sink: Log) {}
  log(message: unknown, context?: string): void {
    this.sink.debug({ context }, String(message));
  }
  debug(message: unknown, context?: string): void {
    this.sink.debug({ context }, String(message));
  }
  verbose(message: unknown, context?: string): void {
    this.sink.trace({ context }, String(message));
  }
  warn(message: unknown, context?: string): void {
    this.sink.warn({ context }, String(message));
  }
  error(message: unknown, stack?: string, context?: string): void {
    this.sink.error({ context, stack }, String(message));
  }
  fatal(message: unknown, stack?: string, context?: string): void {
    this.sink.fatal({ context, stack }, String(message));
  }
}
