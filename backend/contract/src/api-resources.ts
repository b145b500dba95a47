import { z } from 'zod';
import { ChainProblem } from './chain.js';
import { Id, Name, TimestampMs } from './common.js';
import { InstanceFigures } from './instance-figures.js';
import { Session } from './lifecycle.js';
import { TwinState } from './twin-api.js';

export const SessionInfo = Session.omit({ token: true });
export type SessionInfo = z.infer<typeof SessionInfo>;

export const JoinTokenRequest = z.strictObject({ node: Name });
export const JoinToken = z.strictObject({ node: Name, token: z.string(), expires_ms: TimestampMs });
export type JoinToken = z.infer<typeof JoinToken>;

export const ValidationResult = z.strictObject({
  valid: z.boolean().describe('no problem has severity `error`'),
  problems: z.array(ChainProblem),
});
export type ValidationResult = z.infer<typeof ValidationResult>;

/** The twin as the console sees it; `state` is null while twind does not answer. */
export const TwinStatus = z.strictObject({
  enabled: z.boolean(),
  daemon: z.enum(['off', 'starting', 'running', 'lost']),
  detail: z.string().nullable(),
  state: TwinState.nullable(),
});
export type TwinStatus = z.infer<typeof TwinStatus>;

export const InstanceStateDump = z.strictObject({
  instance_id: Id,
  figures: InstanceFigures.nullable().describe('null: its agent reports none'),
  state: z.unknown().describe('in the format of the NF'),
});
