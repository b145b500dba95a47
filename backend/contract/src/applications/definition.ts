import { z } from 'zod';
import { Generation, IpAddress, Name, TimestampMs } from '../common.js';
import { ApplicationStatus } from './application.js';
import { type AnyApplicationKind, APPLICATION_KINDS } from './registry.js';

const common = { id: Name, node: Name, enabled: z.boolean().default(true) };

const variant = <K extends string, C extends z.ZodObject>({ kind, config }: { readonly kind: K; readonly config: C }) =>
  z.strictObject({ ...common, kind: z.literal(kind), config });

type VariantOf<T> = T extends { readonly kind: infer K extends string; readonly config: infer C extends z.ZodObject }
  ? ReturnType<typeof variant<K, C>>
  : never;
type VariantsOf<T extends readonly unknown[]> = { [I in keyof T]: VariantOf<T[I]> };

/** A program to run on a node. One that exits on its own is not restarted until it is changed or restarted explicitly. */
export const ApplicationDefinition = z.discriminatedUnion(
  'kind',
  APPLICATION_KINDS.map((kind: AnyApplicationKind) => variant(kind)) as unknown as VariantsOf<typeof APPLICATION_KINDS>,
);
export type ApplicationDefinition = z.infer<typeof ApplicationDefinition>;

/** A declared program with its status. */
export const Application = z.strictObject({
  id: Name,
  definition: ApplicationDefinition,
  revision: z.int().min(1).describe('the ETag'),
  created_ms: TimestampMs,
  updated_ms: TimestampMs,
  status: ApplicationStatus,
});
export type Application = z.infer<typeof Application>;

/** What a supervisor gets for one application. */
export const ApplicationSpec = z.strictObject({
  definition: ApplicationDefinition,
  revision: Generation.describe('identifies the run: a new revision restarts the program'),
  address: IpAddress.nullable().describe('resolved `config.to`; null if the kind has no destination'),
});
export type ApplicationSpec = z.infer<typeof ApplicationSpec>;

/** Body of twind's `PUT /applications` and of the agent message `applications`: everything that the receiver must run. */
export const ApplicationsSpec = z.strictObject({
  generation: Generation,
  applications: z.array(ApplicationSpec).max(1000),
});
export type ApplicationsSpec = z.infer<typeof ApplicationsSpec>;
