import { z } from 'zod';
import { Id, Name, TimestampMs } from './common.js';
import { Role } from './lifecycle.js';

/** Values by parameter name, as declared by the scenario's schema. */
export const ScenarioParameters = z.record(z.string().max(40), z.union([z.number(), z.boolean(), z.string().max(200)]));
export type ScenarioParameters = z.infer<typeof ScenarioParameters>;

/** Pages of the console on which a run can be watched. */
export const WatchedPage = z.enum(['accelerators', 'parallelism', 'slos', 'topology']);
export type WatchedPage = z.infer<typeof WatchedPage>;

/** An experiment, usually a published one, that the twin can reproduce. */
export const Scenario = z.strictObject({
  id: Name,
  title: z.string().max(80),
  summary: z.string().max(400),
  role: Role.describe('least role that may run it'),
  source: z.string().max(120).describe('where the experiment was published; empty: unpublished'),
  duration_s: z.number().positive().describe('approximate duration of a run with the defaults'),
  needs: z.array(z.string().max(400)).describe('prerequisites, checked before a run starts'),
  parameters: z.record(z.string(), z.unknown()).describe('JSON Schema of an object; every property has a default'),
  watch: WatchedPage.optional().describe('page that shows best what happens during a run; absent: none does'),
});
export type Scenario = z.infer<typeof Scenario>;

export const ScenarioRequest = z.strictObject({
  parameters: ScenarioParameters.default({}).describe('defaults apply to absent ones'),
});
export type ScenarioRequest = z.infer<typeof ScenarioRequest>;

/** A figure of a run next to the published one. */
export const ScenarioFigure = z.strictObject({
  name: z.string().max(120),
  unit: z.string().max(20),
  published: z.number().nullable(),
  here: z.number().nullable(),
  source: z.string().max(80).default('').describe('of the published figure, e.g. `CoNFV Fig. 9`'),
  modelled: z.boolean().default(false).describe('`here` comes at least partly from a model'),
  bar: z
    .strictObject({ least: z.number().nullable(), most: z.number().nullable() })
    .nullable()
    .default(null)
    .describe('range in which `here` must be; null: any'),
  pass: z.boolean().nullable().default(null).describe('whether `here` is within the bar; null: no bar'),
  note: z.string().max(200).default('').describe('what is modelled or scaled'),
});
export type ScenarioFigure = z.infer<typeof ScenarioFigure>;

const Axis = z.strictObject({ label: z.string().max(60), unit: z.string().max(20) });

/** Series on common axes; `published` ones are taken from the publication. */
export const ScenarioPlot = z.strictObject({
  title: z.string().max(120),
  source: z.string().max(80).default(''),
  x: Axis,
  y: Axis,
  series: z
    .array(
      z.strictObject({
        name: z.string().max(80),
        published: z.boolean().default(false),
        modelled: z.boolean().default(false),
        points: z.array(z.tuple([z.number(), z.number()])).max(1000),
      }),
    )
    .max(16),
});
export type ScenarioPlot = z.infer<typeof ScenarioPlot>;

export const ScenarioRun = z.strictObject({
  id: Id,
  scenario_id: Name,
  parameters: ScenarioParameters.default({}),
  by: z.string().default(''),
  state: z.enum(['running', 'completed', 'failed', 'stopped']),
  steps: z.array(
    z.strictObject({
      title: z.string().max(160),
      state: z.enum(['pending', 'running', 'done', 'failed', 'skipped']),
      progress: z.number().min(0).max(1).nullable().default(null).describe('null: unknown'),
      started_ms: TimestampMs.nullable(),
      ended_ms: TimestampMs.nullable(),
      detail: z.string().nullable(),
    }),
  ),
  figures: z.array(ScenarioFigure),
  chains: z.array(Id).describe('chains that the run created'),
  detail: z.string().nullable(),
  started_ms: TimestampMs,
  ended_ms: TimestampMs.nullable(),
});
export type ScenarioRun = z.infer<typeof ScenarioRun>;

/** A run with all its measurements. */
export const ScenarioReport = z.strictObject({
  ...ScenarioRun.shape,
  title: z.string().max(80).default('').describe('title of the scenario'),
  source: Scenario.shape.source.default(''),
  plots: z.array(ScenarioPlot).max(16).default([]),
});
export type ScenarioReport = z.infer<typeof ScenarioReport>;
